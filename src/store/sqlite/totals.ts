// Running totals on SQLite.
import { batchesOf, countNameOf, namesOf, sumsOf, type Batch } from '../sql/adding-up.ts'
import { foldedCounters, type Totals } from '../ports/totals.ts'
import { activeRuns, knownSeries, sentProject, sentSeries } from '../sql/total-rows.ts'
import { overflowAttributes, shapeOf, type ProjectIncrements, type SeriesTotal } from '../../model/totals.ts'
import type { Database, Row } from './database.ts'

export function sqliteTotals(db: Database): Totals {
  return {
    read: async (limit, from = 0) => {
      const rows = db
        .prepare('SELECT * FROM totals_projects WHERE id > ? ORDER BY id LIMIT ?')
        .all(from, limit) as Row[]
      const series = db.prepare('SELECT * FROM totals WHERE project = ? ORDER BY metric, attributes')
      return {
        now: db.now(),
        projects: rows.flatMap(row => {
          const project = sentProject(db.damaged, row)
          if (project === undefined) return []
          const key = { instance: row.instance as string, projectId: row.project_id as number }
          const rowsOf = series.all(row.id as number)
          return [{ key, project, profile: row.profile as string, series: sentSeries(db.damaged, rowsOf) }]
        }),
        ...(rows.length < limit ? {} : { next: rows.at(-1)?.id as number }),
      }
    },
    active: async () =>
      activeRuns(
        db.damaged,
        db
          .prepare(
            `SELECT instance, project_id, name, status, count(*) AS runs,
                    project, max(changed_at)
             FROM runs WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped')
             GROUP BY instance, project_id, name, status ORDER BY instance, project_id, name, status`,
          )
          .all(),
      ),
  }
}

/** Moves totals, inside the transaction of whoever froze what they count. */
export function moveTotals(db: Database, increments: readonly ProjectIncrements[], now: number): void {
  for (const batch of batchesOf(increments)) moveProject(db, batch, now)
}

function moveProject(db: Database, batch: Batch, now: number): void {
  const { key, project, profile } = batch
  const { id } = db
    .prepare(
      `INSERT INTO totals_projects (instance, project_id, profile, facts) VALUES (?, ?, ?, ?)
       ON CONFLICT (instance, project_id) DO UPDATE SET profile = excluded.profile, facts = excluded.facts
       RETURNING id`,
    )
    .get(key.instance, key.projectId, profile, JSON.stringify(project)) as { id: number }
  const select = db.prepare('SELECT * FROM totals WHERE project = ? AND series = ?')
  const known = new Map<string, SeriesTotal>()
  for (const name of namesOf(batch)) {
    const row = select.get(id, name)
    const total = row && knownSeries(db.damaged, row)
    if (total !== undefined) known.set(name, total)
  }
  const isKnown = [...batch.bySeries.keys()].every(name => known.has(name))
  const { series, overflowed } = sumsOf(batch, known, isKnown ? new Map() : countsOf(db, id), now)
  const write = db.prepare(
    `INSERT INTO totals (project, series, metric, attributes, shape, amount, started_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (project, series) DO UPDATE SET
       attributes = excluded.attributes, amount = excluded.amount, started_at = excluded.started_at`,
  )
  for (const [name, { metric, attributes, amount, startedAt }] of series) {
    write.run(id, name, metric, attributes, shapeOf(amount), JSON.stringify(amount), startedAt)
  }
  const count = db.prepare(
    'INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + excluded.value',
  )
  if (batch.folded > 0) count.run(foldedCounters.refs, batch.folded)
  if (overflowed > 0) count.run(foldedCounters.series, overflowed)
}

function countsOf(db: Database, project: number): Map<string, number> {
  const rows = db
    .prepare(
      'SELECT metric, shape, count(*) AS series FROM totals WHERE project = ? AND attributes <> ? GROUP BY metric, shape',
    )
    .all(project, overflowAttributes) as Row[]
  return new Map(rows.map(row => [countNameOf(row.metric as string, row.shape as string), row.series as number]))
}
