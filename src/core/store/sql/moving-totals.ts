// Writes increments to the stored totals, for both databases, within the transaction that folds them (`totals.ts`).
import { addToCounter } from './leases.ts'
import { batchesOf, countNameOf, namedWithin, namesOf, sumsOf, type Batch, type Names, type Sums } from './adding-up.ts'
import { each, forRows, type Steps, type StepValue, type Within } from './steps.ts'
import { foldedCounters } from '../ports/totals.ts'
import { json, number, record, text, type Row } from './columns.ts'
import {
  otherNames,
  overflowAttributes,
  shapeOf,
  type ProjectIncrements,
  type ProjectTotals,
  type SeriesTotal,
} from '../../../model/totals.ts'

const id = number('id')
export const projectOfSeries = number('project')
export const projectKey = record({ instance: text('instance'), projectId: number('project_id') })

export const seriesOf: (row: Row) => SeriesTotal = record({
  metric: text('metric'),
  attributes: text('attributes'),
  amount: json<SeriesTotal['amount']>('amount'),
  startedAt: number('started_at'),
})

/** `now`: series that are new start just before it. */
export function* moveTotals(increments: readonly ProjectIncrements[], { now, damaged, log }: Within): Steps<void> {
  const found = batchesOf(increments)
  // Locks the rows of the projects, and with them their series; all replicas do so in the same order.
  const projects = yield each(insertProjects, found.map(projectValues))
  const rows = new Map(projects.map(row => [nameOfKey(projectKey(row)), row]))
  const withId = found.map(batch => {
    const row = rows.get(nameOfKey(batch.key)) ?? {}
    const names = batch.increments.some(({ limited }) => limited !== undefined)
      ? // If they are damaged, the limit begins anew.
        (damaged.row('totals_projects', row, namesInRow) ?? {})
      : {}
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
    // A damaged series begins anew, like a counter after a restart.
    const total = damaged.row('totals', row, seriesOf)
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
const namesInRow = json<Names>('names')

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
