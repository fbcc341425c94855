// Adds increments to the stored totals, for both databases, as steps of the transaction that folds them (`ports/totals.ts`).
//
// 1. Increments are summed in memory, so that each series of a project has one increment.
// 2. The rows of the projects are locked, which also locks their series. A name beyond a project's limit is replaced with `otherNames`.
// 3. The stored series are read and the increments are added. If a metric already has the maximum number of series, a new one is added to the
//    metric's overflow series.
import { createHash } from 'node:crypto'
import { json, number, record, text, type Row } from './columns.ts'
import { each, forRows, type Steps, type StepValue, type Within } from './steps.ts'
import {
  added,
  foldedCounters,
  otherNames,
  overflowAttributes,
  seriesId,
  shapeOf,
  underOtherNames,
  type Increment,
  type ProjectIncrements,
  type ProjectTotals,
  type SeriesTotal,
} from '../../../model/totals.ts'

/** Adds to a stored counter. The parameters are the counter's name and the amount. */
export const addToCounter = `
  INSERT INTO counters (name, value) VALUES (?1, ?2)
  ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value`

/** For each metric, the stored values of the attribute that may have only a limited number of values per project. */
type Names = Readonly<Record<string, readonly string[]>>

/** The increments of one project, one for each series of the project. */
interface Batch extends ProjectIncrements {
  /** The id of the project's row. */
  readonly id: number
  /** The increments, by the `storedName` of their series. */
  readonly bySeries: ReadonlyMap<string, Increment>
  /** How many increments had a name beyond the project's limit. */
  readonly unnamed: number
}

export const projectOfSeries = number('project')
export const projectKey = record({ instance: text('instance'), projectId: number('project_id') })

export const seriesOf: (row: Row) => SeriesTotal = record({
  metric: text('metric'),
  attributes: text('attributes'),
  amount: json<SeriesTotal['amount']>('amount'),
  startedAt: number('started_at'),
})

/** Adds increments to the stored totals. A new series starts just before `now`. */
export function* addToTotals(increments: readonly ProjectIncrements[], within: Within): Steps<void> {
  const { now, damaged } = within
  const batches = yield* lockedBatches(increments, within)
  const names = batches.flatMap(batch => namesOf(batch).map(name => [batch.id, name]))
  const known = new Map(batches.map(({ id }) => [id, new Map<string, SeriesTotal>()]))
  for (const row of yield each(selectKnown, names)) {
    // A damaged series starts again at zero, like a counter after a restart.
    const total = damaged.row('totals', row, seriesOf)
    if (total !== undefined) known.get(projectOfSeries(row))?.set(text('series')(row), total)
  }
  const withNew = batches.filter(({ bySeries, id }) => [...bySeries.keys()].some(name => !known.get(id)?.has(name)))
  const counts = new Map<string, number>()
  const counted = yield each(
    countSeries,
    withNew.map(({ id }) => [id]),
  )
  for (const row of counted) {
    const { metric, shape, series } = seriesCount(row)
    counts.set(`${projectOfSeries(row)} ${metric} ${shape}`, series)
  }
  let overflowed = 0
  const rows: StepValue[][] = []
  for (const batch of batches) {
    const sums = sumsOf(batch, known.get(batch.id) ?? new Map<string, SeriesTotal>(), counts, now)
    overflowed += sums.overflowed
    for (const [name, { metric, attributes, amount, startedAt }] of sums.series)
      rows.push([batch.id, name, metric, attributes, shapeOf(amount), JSON.stringify(amount), startedAt])
  }
  yield each(insertSeries, rows)
  const counters: [string, number][] = [
    [foldedCounters.refs, increments.flatMap(one => one.increments).filter(({ folded }) => folded === true).length],
    [foldedCounters.names, batches.reduce((sum, { unnamed }) => sum + unnamed, 0)],
    [foldedCounters.series, overflowed],
  ]
  for (const counter of counters) if (counter[1] > 0) yield [addToCounter, counter]
}

/** Locks the rows of the projects. All replicas lock projects in the same order. */
function* lockedBatches(all: readonly ProjectIncrements[], { damaged, log }: Within): Steps<Batch[]> {
  const byProject = Map.groupBy(all, ({ key }) => nameOfKey(key))
  const found = [...byProject]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, ofProject]) => {
      const newest = ofProject.at(-1)
      return newest === undefined ? [] : [{ ...newest, name, increments: ofProject.flatMap(one => one.increments) }]
    })
  const projects = yield each(
    insertProjects,
    found.map(({ key, profile, project }) => [key.instance, key.projectId, profile, JSON.stringify(project)]),
  )
  const rows = new Map(projects.map(row => [nameOfKey(projectKey(row)), row]))
  const changed: StepValue[][] = []
  const batches = found.map(({ name, ...own }): Batch => {
    const row = rows.get(name) ?? {}
    const isLimited = own.increments.some(({ limited }) => limited !== undefined)
    // If the stored names are damaged, the number of names is counted from zero again.
    const names = (isLimited ? damaged.row('totals_projects', row, namesInRow) : undefined) ?? {}
    const bySeries = new Map(summed(own.increments).map(one => [storedName(one), one]))
    const { newNames, ...limited } = namedWithin(bySeries, names)
    for (const [metric, more] of Object.entries(newNames))
      if (more.includes(otherNames)) log?.warn({ project: own.project.path, metric }, tooManyNames)
    if (Object.keys(newNames).length > 0) changed.push([id(row), JSON.stringify(joinedNames(names, newNames))])
    return { ...own, id: id(row), ...limited }
  })
  yield each(updateNames, changed)
  return batches
}

const id = number('id')
const tooManyNames = 'the project has more names than this metric allows; further names are counted together as *'
const namesInRow = json<Names>('names')

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

function joinedNames(known: Names, more: Names): Names {
  const joined = Object.entries(more).map(([metric, added]) => [metric, [...(known[metric] ?? []), ...added]])
  return { ...known, ...(Object.fromEntries(joined) as Names) }
}

/** Returns the name under which a series is stored. It is a hash, because the attributes may be too long for an index. */
function storedName(series: Increment): string {
  return createHash('sha256').update(seriesId(series)).digest('base64url')
}

/**
 * Sums the increments of each series. Series are compared by their plain names, because hashing is slow and most series occur in every pipeline of a
 * batch.
 */
function summed(increments: readonly Increment[]): Increment[] {
  const sums = new Map<string, Increment>()
  for (const increment of increments)
    add(sums, `${increment.metric}\n${shapeOf(increment.amount)}\n${increment.attributes}`, increment)
  return [...sums.values()]
}

/** Returns the same totals as fewer increments, which are faster to write and read. Pipelines of the same project mostly have the same series. */
export function summedByProject(all: readonly ProjectIncrements[]): ProjectIncrements[] {
  return [...Map.groupBy(all, ({ key }) => nameOfKey(key)).values()].flatMap(ofProject => {
    const newest = ofProject.at(-1)
    if (newest === undefined || ofProject.length === 1) return ofProject
    const increments = ofProject.flatMap(one => one.increments)
    // Increments whose ref was replaced by a common name are not summed here, because they are counted when they are added to the totals.
    const folded = increments.filter(one => one.folded === true)
    return [{ ...newest, increments: [...summed(increments.filter(one => one.folded !== true)), ...folded] }]
  })
}

/** Replaces each name beyond the project's limit with `otherNames`. `known`: the names that are already stored for the project. */
function namedWithin(
  all: ReadonlyMap<string, Increment>,
  known: Names,
): Pick<Batch, 'bySeries' | 'unnamed'> & { readonly newNames: Names } {
  const names = new Map<string, Set<string>>()
  const newNames: Record<string, string[]> = {}
  const bySeries = new Map<string, Increment>()
  let unnamed = 0
  for (const [name, increment] of all) {
    const { metric, limited } = increment
    if (limited === undefined) {
      bySeries.set(name, increment)
      continue
    }
    const own = names.get(metric) ?? new Set(known[metric])
    names.set(metric, own)
    const isNamed = own.has(limited.value) || own.size < limited.max
    // `otherNames` is stored among the project's names, so that replicas and later starts know that the overflow was already logged.
    const value = isNamed ? limited.value : otherNames
    if (!own.has(value)) (newNames[metric] ??= []).push(value)
    own.add(value)
    if (isNamed) bySeries.set(name, increment)
    else {
      const other = underOtherNames(increment, limited)
      add(bySeries, storedName(other), other)
      unnamed += 1
    }
  }
  return { bySeries, unnamed, newNames }
}

/** Returns the names of all series that a batch may change: its own series, and the overflow series of its metrics. */
function namesOf({ bySeries }: Batch): string[] {
  const overflows = [...bySeries.values()].map(increment => storedName(overflowing(increment)))
  return [...new Set([...bySeries.keys(), ...overflows])]
}

/**
 * Computes the rows to write. `known`: the stored series of `namesOf`. `counts`: the number of series by project, metric and shape, without overflow
 * series.
 */
function sumsOf(
  { id: project, bySeries, maxSeries }: Batch,
  known: ReadonlyMap<string, SeriesTotal>,
  counts: ReadonlyMap<string, number>,
  now: number,
): { readonly series: ReadonlyMap<string, SeriesTotal>; readonly overflowed: number } {
  const series = new Map<string, SeriesTotal>()
  const room = new Map<string, number>()
  let overflowed = 0
  for (const [name, increment] of bySeries) {
    let place = name
    let own = increment
    if (!known.has(name)) {
      const counted = `${project} ${increment.metric} ${shapeOf(increment.amount)}`
      const max = Math.min(maxSeries, increment.maxSeries ?? maxSeries)
      const left = room.get(counted) ?? max - 1 - (counts.get(counted) ?? 0)
      if (left > 0) room.set(counted, left - 1)
      else {
        own = overflowing(increment)
        place = storedName(own)
        overflowed += 1
      }
    }
    const before = series.get(place) ?? known.get(place)
    series.set(place, {
      metric: own.metric,
      attributes: own.attributes,
      amount: before === undefined ? own.amount : added(before.amount, own.amount),
      // The start is one ms earlier, because a data point's interval excludes its start.
      startedAt: before?.startedAt ?? now - 1,
    })
  }
  return { series, overflowed }
}

function overflowing(increment: Increment): Increment {
  return { ...increment, attributes: overflowAttributes }
}

function add(series: Map<string, Increment>, name: string, increment: Increment): void {
  const before = series.get(name)
  series.set(name, before === undefined ? increment : { ...before, amount: added(before.amount, increment.amount) })
}
