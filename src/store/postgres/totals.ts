// Running totals on PostgreSQL: each step is one statement for all projects.
import { batchesOf, countNameOf, namesOf, sumsOf } from '../sql/adding-up.ts'
import { foldedCounters, type Totals } from '../ports/totals.ts'
import { activeRuns, knownSeries, sentProject, sentSeries } from '../sql/total-rows.ts'
import { overflowAttributes, shapeOf, type ProjectIncrements, type SeriesTotal } from '../../model/totals.ts'
import type { Database, Session } from './database.ts'

export function postgresTotals(db: Database): Totals {
  return {
    read: async (limit, from = 0) =>
      db.transaction(async (session, now) => {
        const rows = await session.query('SELECT * FROM totals_projects WHERE id > $1 ORDER BY id LIMIT $2', [
          from,
          limit,
        ])
        const series = await session.query(
          'SELECT * FROM totals WHERE project = ANY ($1::bigint[]) ORDER BY metric, attributes',
          [rows.map(({ id }) => id)],
        )
        const byProject = Map.groupBy(series, ({ project }) => project)
        return {
          now,
          projects: rows.flatMap(row => {
            const project = sentProject(session.damaged, row)
            if (project === undefined) return []
            const key = { instance: row.instance as string, projectId: row.project_id as number }
            const rowsOf = byProject.get(row.id) ?? []
            return [{ key, project, profile: row.profile as string, series: sentSeries(session.damaged, rowsOf) }]
          }),
          ...(rows.length < limit ? {} : { next: rows.at(-1)?.id as number }),
        }
      }),
    active: async () => {
      const rows = await db.ask(
        `SELECT instance, project_id, name, status, count(*) AS runs, (array_agg(project ORDER BY changed_at DESC))[1] AS project
         FROM runs WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped')
         GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
      )
      return activeRuns(db.damaged, rows)
    },
  }
}

/** Moves totals, inside the transaction of whoever froze what they count. */
export async function moveTotals(
  session: Session,
  increments: readonly ProjectIncrements[],
  now: number,
): Promise<void> {
  const batches = batchesOf(increments)
  if (batches.length === 0) return
  // The rows of the projects are locked from here on, in one order by everybody: their series are ours.
  const projects = await session.query(
    `INSERT INTO totals_projects (instance, project_id, profile, facts)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[])
     ON CONFLICT (instance, project_id) DO UPDATE SET profile = excluded.profile, facts = excluded.facts
     RETURNING id, instance, project_id`,
    [
      batches.map(({ key }) => key.instance),
      batches.map(({ key }) => key.projectId),
      batches.map(({ profile }) => profile),
      batches.map(({ project }) => JSON.stringify(project)),
    ],
  )
  const idOf = new Map(projects.map(row => [JSON.stringify([row.instance, row.project_id]), row.id as number]))
  const placed = batches.map(batch => ({
    batch,
    id: idOf.get(JSON.stringify([batch.key.instance, batch.key.projectId])) ?? 0,
  }))
  const known = await seriesByProject(
    session,
    placed.map(({ id, batch }) => [id, namesOf(batch)]),
  )
  const counts = await countsByProject(
    session,
    placed.filter(({ id, batch }) => ![...batch.bySeries.keys()].every(name => known.get(id)?.has(name))),
  )
  let folded = 0
  let overflowed = 0
  const written = placed.flatMap(({ id, batch }) => {
    const sums = sumsOf(batch, known.get(id) ?? new Map(), counts.get(id) ?? new Map(), now)
    folded += batch.folded
    overflowed += sums.overflowed
    return [...sums.series].map(([name, series]) => ({ id, name, series }))
  })
  await session.query(
    `INSERT INTO totals (project, series, metric, attributes, shape, amount, started_at)
     SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
     ON CONFLICT (project, series) DO UPDATE SET
       attributes = excluded.attributes, amount = excluded.amount, started_at = excluded.started_at`,
    [
      written.map(({ id }) => id),
      written.map(({ name }) => name),
      written.map(({ series }) => series.metric),
      written.map(({ series }) => series.attributes),
      written.map(({ series }) => shapeOf(series.amount)),
      written.map(({ series }) => JSON.stringify(series.amount)),
      written.map(({ series }) => series.startedAt),
    ],
  )
  for (const [name, by] of [
    [foldedCounters.refs, folded],
    [foldedCounters.series, overflowed],
  ] as const) {
    if (by === 0) continue
    await session.query(
      'INSERT INTO counters VALUES ($1, $2::bigint) ON CONFLICT (name) DO UPDATE SET value = counters.value + $2::bigint',
      [name, by],
    )
  }
}

async function seriesByProject(
  session: Session,
  wanted: readonly [project: number, names: readonly string[]][],
): Promise<Map<number, Map<string, SeriesTotal>>> {
  const pairs = wanted.flatMap(([project, names]) => names.map(name => [project, name] as const))
  const rows = await session.query(
    `SELECT t.* FROM totals t JOIN unnest($1::bigint[], $2::text[]) AS w (project, series)
       ON t.project = w.project AND t.series = w.series`,
    [pairs.map(([project]) => project), pairs.map(([, name]) => name)],
  )
  const found = new Map<number, Map<string, SeriesTotal>>(wanted.map(([project]) => [project, new Map()]))
  for (const row of rows) {
    const total = knownSeries(session.damaged, row)
    if (total !== undefined) found.get(row.project as number)?.set(row.series as string, total)
  }
  return found
}

async function countsByProject(
  session: Session,
  wanted: readonly { id: number }[],
): Promise<Map<number, Map<string, number>>> {
  const found = new Map<number, Map<string, number>>(wanted.map(({ id }) => [id, new Map()]))
  if (wanted.length === 0) return found
  const rows = await session.query(
    `SELECT project, metric, shape, count(*) AS series FROM totals
     WHERE project = ANY ($1::bigint[]) AND attributes <> $2 GROUP BY project, metric, shape`,
    [wanted.map(({ id }) => id), overflowAttributes],
  )
  for (const row of rows) {
    const name = countNameOf(row.metric as string, row.shape as string)
    found.get(row.project as number)?.set(name, row.series as number)
  }
  return found
}
