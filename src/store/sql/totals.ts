// Running totals and active runs, for both databases. Damaged rows are skipped.
import { json, number, optional, record, text, type Row } from './columns.ts'
import { foldedCounters, type Totals } from '../ports/totals.ts'
import { activeJobs } from './active-jobs.ts'
import { addToCounter } from './leases.ts'
import { batchesOf, countNameOf, namedWithin, namesOf, sumsOf, type Batch, type Names, type Sums } from './adding-up.ts'
import { each, forRows, type Steps, type StepValue, type Within } from './steps.ts'
import {
  otherNames,
  overflowAttributes,
  shapeOf,
  type ActiveRuns,
  type ProjectIncrements,
  type ProjectTotals,
  type SeriesTotal,
} from '../../model/totals.ts'
import { storedJson, type DamagedRows } from './stored-json.ts'
import type { Statements } from './statements.ts'

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
    metrics: async () => (await sql.all(selectMetrics)).map(row => text('metric')(row)),
    ofMetric: async (metric, limit, from = 0) => {
      const counts = await sql.all(selectCounts, [metric, from, limit])
      const { last, isWhole } = pageWithin(limit, counts)
      const rows = await sql.all(selectOfMetric, [metric, from, last])
      const now = await sql.now()
      const projects = [...Map.groupBy(rows, projectOfSeries).values()].flatMap(
        some => projectTotals(sql.damaged, some[0] ?? {}, some) ?? [],
      )
      return { now, projects, ...(isWhole && counts.length < limit ? {} : { next: last }) }
    },
    active: async () => (await sql.all(selectActive)).flatMap(row => activeRuns(sql.damaged, row) ?? []),
    activeJobs: async take => activeJobs(sql, take),
  }
}

const page = 'SELECT id FROM totals_projects WHERE id > ?1 ORDER BY id LIMIT ?2'
const selectProjects = `SELECT * FROM totals_projects WHERE id IN (${page}) ORDER BY id`
const selectSeries = `SELECT * FROM totals WHERE project IN (${page}) ORDER BY project, metric, attributes`

/** Each name is looked up in the index: it may have millions of entries. */
const selectMetrics = `
  WITH RECURSIVE names (metric) AS (
    SELECT min(metric) FROM totals
    UNION ALL SELECT (SELECT min(metric) FROM totals WHERE metric > names.metric) FROM names WHERE names.metric IS NOT NULL
  ) SELECT metric FROM names WHERE metric IS NOT NULL`
const selectCounts = `
  SELECT project, count(*) AS series FROM totals WHERE metric = ?1 AND project > ?2
  GROUP BY project ORDER BY project LIMIT ?3`
const selectOfMetric = `
  SELECT t.*, p.instance, p.project_id, p.profile, p.facts FROM totals t JOIN totals_projects p ON p.id = t.project
  WHERE t.metric = ?1 AND t.project > ?2 AND t.project <= ?3 ORDER BY t.project, t.attributes`

/** The last project of a page of about `limit` series, and whether the page has all that were counted. */
function pageWithin(limit: number, counts: readonly Row[]): { readonly last: number; readonly isWhole: boolean } {
  let sum = 0
  const at = counts.findIndex(row => (sum += countOf(row)) >= limit)
  return { last: projectOfSeries(counts.at(at) ?? { project: 0 }), isWhole: at === -1 }
}

/** The number of runs for each project, name and status, with the project of the newest one, which has the current name. */
const selectActive = `
  SELECT instance, project_id, name, status, project, runs FROM (
    SELECT instance, project_id, name, status, project, count(*) OVER alike AS runs,
           row_number() OVER (alike ORDER BY changed_at DESC) AS place
    FROM runs WHERE due_at IS NOT NULL AND status NOT IN ('success', 'failed', 'canceled', 'skipped')
    WINDOW alike AS (PARTITION BY instance, project_id, name, status)
  ) AS active WHERE place = 1 ORDER BY instance, project_id, name, status`

const id = number('id')
const projectOfSeries = number('project')
const countOf = number('series')
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
  return damaged.orNothing(nameOfRow(row), 'it is not sent', () => {
    storedJson(row.attributes)
    return seriesOf(row)
  })
}

/** Undefined if it is damaged: then the series begins again, like a counter after a restart. */
function knownSeries(damaged: DamagedRows, row: Row): SeriesTotal | undefined {
  return damaged.orNothing(nameOfRow(row), 'it begins anew', () => seriesOf(row))
}

function nameOfRow({ project, metric, series }: Row): Record<string, unknown> {
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

/** Adds increments, within the transaction that takes the snapshots or counts. */
export function* moveTotals(increments: readonly ProjectIncrements[], { now, damaged, log }: Within): Steps<void> {
  const found = batchesOf(increments)
  // Locks the rows of the projects, and with them their series; all replicas do so in the same order.
  const projects = yield each(insertProjects, found.map(projectValues))
  const rows = new Map(projects.map(row => [nameOfKey(projectKey(row)), row]))
  const withId = found.map(batch => {
    const row = rows.get(nameOfKey(batch.key)) ?? {}
    const names = batch.increments.some(({ limited }) => limited !== undefined) ? namesOfRow(damaged, row) : {}
    return { batch: namedWithin(batch, names), id: id(row), known: names }
  })
  const batches = withId.map(({ batch }) => batch)
  for (const { project, newNames } of batches) {
    for (const [metric, added] of Object.entries(newNames)) {
      if (added.includes(otherNames)) log?.warn({ project: project.path, metric }, tooManyNames)
    }
  }
  yield each(
    updateNames,
    withId.flatMap(({ batch: { newNames }, id, known }) =>
      Object.keys(newNames).length === 0 ? [] : [[id, JSON.stringify(joinedNames(known, newNames))]],
    ),
  )
  const names = withId.flatMap(({ batch, id }) => namesOf(batch).map(name => [id, name]))
  const known = new Map(withId.map(({ id }) => [id, new Map<string, SeriesTotal>()]))
  for (const row of yield each(selectKnown, names)) {
    const total = knownSeries(damaged, row)
    if (total !== undefined) known.get(projectOfSeries(row))?.set(text('series')(row), total)
  }
  const withNew = withId.filter(({ batch, id }) =>
    [...batch.bySeries.keys()].some(name => known.get(id)?.has(name) !== true),
  )
  const counts = Map.groupBy(
    yield each(
      countSeries,
      withNew.map(({ id }) => [id]),
    ),
    projectOfSeries,
  )
  const sums = withId.map(({ batch, id }) => {
    const ofMetrics = (counts.get(id) ?? []).map(seriesCount)
    const series = new Map(ofMetrics.map(({ metric, shape, series }) => [countNameOf(metric, shape), series]))
    return { id, ...sumsOf(batch, known.get(id) ?? new Map<string, SeriesTotal>(), series, now) }
  })
  yield each(insertSeries, sums.flatMap(seriesValues))
  for (const counter of foldedBy(batches, sums)) yield [addToCounter, counter]
}

const insertProjects = forRows(
  ['text', 'bigint', 'text', 'text'],
  ({ rows }) => `
  INSERT INTO totals_projects (instance, project_id, profile, facts) ${rows}
  ON CONFLICT (instance, project_id) DO UPDATE SET profile = excluded.profile, facts = excluded.facts
  RETURNING id, instance, project_id, names`,
)
const updateNames = forRows(
  ['bigint', 'json'],
  ({ rows }) =>
    `UPDATE totals_projects SET names = n.names FROM (${rows}) AS n (id, names) WHERE totals_projects.id = n.id`,
  'UPDATE totals_projects SET names = ?2 WHERE id = ?1',
)
const selectKnown = forRows(
  ['bigint', 'text'],
  ({ among }) => `SELECT * FROM totals WHERE ${among('project', 'series')}`,
)
const countSeries = forRows(
  ['bigint'],
  ({ among }) => `
  SELECT project, metric, shape, count(*) AS series FROM totals
  WHERE ${among('project')} AND attributes <> '${overflowAttributes}' GROUP BY project, metric, shape`,
)
const insertSeries = forRows(
  ['bigint', 'text', 'text', 'text', 'text', 'text', 'bigint'],
  ({ rows }) => `
  INSERT INTO totals (project, series, metric, attributes, shape, amount, started_at) ${rows}
  ON CONFLICT (project, series) DO UPDATE SET
    attributes = excluded.attributes, amount = excluded.amount, started_at = excluded.started_at`,
)
const seriesCount = record({ metric: text('metric'), shape: text('shape'), series: number('series') })

function nameOfKey({ instance, projectId }: ProjectTotals['key']): string {
  return JSON.stringify([instance, projectId])
}

function projectValues({ key, profile, project }: Batch): StepValue[] {
  return [key.instance, key.projectId, profile, JSON.stringify(project)]
}

function seriesValues({ id, series }: Sums & { readonly id: number }): StepValue[][] {
  return [...series].map(([name, { metric, attributes, amount, startedAt }]) => [
    ...[id, name, metric, attributes, shapeOf(amount), JSON.stringify(amount), startedAt],
  ])
}

const tooManyNames = 'the project has more names than this metric takes: further ones are counted together as *'
const names = json<Names>('names')

/** The names that the metrics of a project have; none if they are damaged: then the limit begins anew. */
function namesOfRow(damaged: DamagedRows, row: Row): Names {
  return (
    damaged.orNothing({ totals: row.project_id, instance: row.instance }, 'its names begin anew', () => names(row)) ??
    {}
  )
}

function joinedNames(known: Names, added: Names): Names {
  const joined = Object.entries(added).map(([metric, more]) => [metric, [...(known[metric] ?? []), ...more]])
  return { ...known, ...(Object.fromEntries(joined) as Names) }
}

/** The increments of `foldedCounters`. */
function foldedBy(batches: readonly Batch[], sums: readonly Sums[]): [string, number][] {
  const refs = batches.reduce((sum, { folded }) => sum + folded, 0)
  const names = batches.reduce((sum, { unnamed }) => sum + unnamed, 0)
  const series = sums.reduce((sum, { overflowed }) => sum + overflowed, 0)
  const counters: [string, number][] = [
    [foldedCounters.refs, refs],
    [foldedCounters.names, names],
    [foldedCounters.series, series],
  ]
  return counters.filter(([, by]) => by > 0)
}
