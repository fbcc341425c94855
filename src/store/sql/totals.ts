// The SQL of running totals and of the runs under way, for both databases. Damaged rows are skipped.
import { json, number, optional, record, text, type Row } from './columns.ts'
import { foldedCounters, type Totals } from '../ports/totals.ts'
import { shapeOf, type ActiveRuns, type ProjectTotals, type SeriesTotal } from '../../model/totals.ts'
import { storedJson, type DamagedRows } from './stored-json.ts'
import type { Batch, Sums } from './adding-up.ts'
import type { Statements, Value } from './statements.ts'

export function totals(sql: Statements): Totals {
  return {
    read: async (limit, from = 0) => {
      const rows = await sql.all(selectProjects, [from, limit])
      const series = Map.groupBy(await sql.all(selectSeries, [from, limit]), projectOfSeries)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        // Read last, so that no series has a start after the time at which it is sent.
        now: await sql.now(),
        projects: rows.flatMap(row => projectTotals(sql.damaged, row, series.get(id(row)) ?? []) ?? []),
        ...(last === undefined ? {} : { next: id(last) }),
      }
    },
    active: async () => (await sql.all(selectActive)).flatMap(row => activeRuns(sql.damaged, row) ?? []),
  }
}

const page = 'SELECT id FROM totals_projects WHERE id > ?1 ORDER BY id LIMIT ?2'
const selectProjects = `SELECT * FROM totals_projects WHERE id IN (${page}) ORDER BY id`
const selectSeries = `SELECT * FROM totals WHERE project IN (${page}) ORDER BY project, metric, attributes`

/** For each project, name and status the number of runs, with the project of the newest one: it has the current name. */
const selectActive = `
  SELECT instance, project_id, name, status, project, runs FROM (
    SELECT instance, project_id, name, status, project, count(*) OVER alike AS runs,
           row_number() OVER (alike ORDER BY changed_at DESC) AS place
    FROM runs WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped')
    WINDOW alike AS (PARTITION BY instance, project_id, name, status)
  ) AS active WHERE place = 1 ORDER BY instance, project_id, name, status`

const id = number('id')
const projectOfSeries = number('project')
const projectKey = record({ instance: text('instance'), projectId: number('project_id') })
const facts = json<ProjectTotals['project']>('facts')
const profile = text('profile')

/** Undefined if the project is damaged: its next pipeline will repair it. */
function projectTotals(damaged: DamagedRows, row: Row, series: readonly Row[]): ProjectTotals | undefined {
  const { instance, project_id: projectId } = row
  return damaged.orNothing({ totals: projectId, instance }, 'its metrics are not sent', () => ({
    ...{ key: projectKey(row), project: facts(row), profile: profile(row) },
    series: series.flatMap(one => sentSeries(damaged, one) ?? []),
  }))
}

const seriesOf: (row: Row) => SeriesTotal = record({
  metric: text('metric'),
  attributes: text('attributes'),
  amount: json<SeriesTotal['amount']>('amount'),
  startedAt: number('started_at'),
})

function sentSeries(damaged: DamagedRows, row: Row): SeriesTotal | undefined {
  return damaged.orNothing(namesOf(row), 'it is not sent', () => {
    storedJson(row.attributes)
    return seriesOf(row)
  })
}

/** Undefined if it is damaged: then the series begins again, like a counter after a restart. */
export function knownSeries(damaged: DamagedRows, row: Row): SeriesTotal | undefined {
  return damaged.orNothing(namesOf(row), 'it begins anew', () => seriesOf(row))
}

function namesOf({ project, metric, series }: Row): Record<string, unknown> {
  return { totals: project, metric, series }
}

const active = record({ name: optional(text, 'name'), status: text('status'), count: number('runs') })
const activeProject = json<{ facts: ActiveRuns['project'] }>('project')

function activeRuns(damaged: DamagedRows, row: Row): ActiveRuns | undefined {
  return damaged.orNothing({ runsOf: row.project_id, instance: row.instance }, 'they are not counted', () => ({
    ...{ key: projectKey(row), project: activeProject(row).facts },
    ...active(row),
  }))
}

/** `rows`: those of `projectValues`. */
export function insertTotalsProjects(rows: string): string {
  return `
    INSERT INTO totals_projects (instance, project_id, profile, facts) ${rows}
    ON CONFLICT (instance, project_id) DO UPDATE SET profile = excluded.profile, facts = excluded.facts
    RETURNING id, instance, project_id`
}

export function projectValues({ key, profile, project }: Batch): Value[] {
  return [key.instance, key.projectId, profile, JSON.stringify(project)]
}

/** `rows`: those of `seriesValues`. */
export function insertTotals(rows: string): string {
  return `
    INSERT INTO totals (project, series, metric, attributes, shape, amount, started_at) ${rows}
    ON CONFLICT (project, series) DO UPDATE SET
      attributes = excluded.attributes, amount = excluded.amount, started_at = excluded.started_at`
}

export function seriesValues(project: number, { series }: Sums): Value[][] {
  return [...series].map(([name, { metric, attributes, amount, startedAt }]) => [
    ...[project, name, metric, attributes, shapeOf(amount), JSON.stringify(amount), startedAt],
  ])
}

/** The increments of `foldedCounters`. */
export function foldedBy(batches: readonly Batch[], sums: readonly Sums[]): (readonly [string, number])[] {
  const refs = batches.reduce((sum, { folded }) => sum + folded, 0)
  const series = sums.reduce((sum, { overflowed }) => sum + overflowed, 0)
  return (
    [
      [foldedCounters.refs, refs],
      [foldedCounters.series, series],
    ] as const
  ).filter(([, by]) => by > 0)
}
