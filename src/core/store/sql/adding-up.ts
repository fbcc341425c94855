// Adds a batch of increments to the stored totals. Pure, for both databases.
import { createHash } from 'node:crypto'
import {
  added,
  otherNames,
  overflowAttributes,
  seriesId,
  shapeOf,
  underOtherNames,
  type Increment,
  type ProjectIncrements,
  type SeriesTotal,
} from '../../../model/totals.ts'
import type { Millis } from '../../../model/instant.ts'

/** The increments of one project, one for each series. */
export interface Batch extends ProjectIncrements {
  /** By `storedName`. */
  readonly bySeries: ReadonlyMap<string, Increment>
  /** How many increments have a ref that was replaced by a coarser value. */
  readonly folded: number
  /** How many increments had a name beyond the project's limit. */
  readonly unnamed: number
  /** The names to add to the project's own, by metric. */
  readonly newNames: Names
}

/** The values of limited attributes that a project has, by metric. */
export type Names = Readonly<Record<string, readonly string[]>>

export interface Sums {
  /** By `storedName`. */
  readonly series: ReadonlyMap<string, SeriesTotal>
  /** How many series were added to the overflow series. */
  readonly overflowed: number
}

/** The name under which a series is stored: a hash, as attributes may be too long for an index. */
function storedName(series: Increment | SeriesTotal): string {
  return createHash('sha256').update(seriesId(series)).digest('base64url')
}

/** A batch for each project, in the order in which all replicas lock them. */
export function batchesOf(all: readonly ProjectIncrements[]): Batch[] {
  const byProject = Map.groupBy(all, ({ key }) => JSON.stringify([key.instance, key.projectId]))
  return [...byProject]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, ofProject]) => {
      const newest = ofProject.at(-1)
      if (newest === undefined) return []
      const increments = ofProject.flatMap(one => one.increments)
      const bySeries = new Map([...summed(increments).values()].map(increment => [storedName(increment), increment]))
      const folded = increments.filter(({ folded: isFolded }) => isFolded === true).length
      return [{ ...newest, increments, bySeries, folded, unnamed: 0, newNames: {} }]
    })
}

/** The batch with `otherNames` for all names beyond the limit. `known`: the project's names. */
export function namedWithin(batch: Batch, known: Names): Batch {
  const names = new Map<string, Set<string>>()
  const newNames: Record<string, string[]> = {}
  const bySeries = new Map<string, Increment>()
  let unnamed = 0
  for (const [name, increment] of batch.bySeries) {
    const { metric, limited } = increment
    if (limited === undefined) {
      bySeries.set(name, increment)
      continue
    }
    const own = names.get(metric) ?? new Set(known[metric])
    names.set(metric, own)
    if (own.has(limited.value) || own.size < limited.max) {
      if (!own.has(limited.value)) (newNames[metric] ??= []).push(limited.value)
      own.add(limited.value)
      bySeries.set(name, increment)
      continue
    }
    // Noted as a name, so that replicas and later starts know that it was said.
    if (!own.has(otherNames)) (newNames[metric] ??= []).push(otherNames)
    own.add(otherNames)
    const other = underOtherNames(increment, limited)
    add(bySeries, storedName(other), other)
    unnamed += 1
  }
  return { ...batch, bySeries, unnamed, newNames }
}

/** The names of all series that a batch may change: its own, and the overflow series of its metrics. */
export function namesOf({ bySeries }: Batch): string[] {
  const overflows = [...bySeries.values()].map(increment => storedName(overflowing(increment)))
  return [...new Set([...bySeries.keys(), ...overflows])]
}

/**
 * The rows to write. `known`: the stored series of `namesOf`. `counts`: the number of series of each metric and shape (`countNameOf`),
 * without the overflow series; only needed if there is a new series.
 */
export function sumsOf(
  { bySeries, maxSeries }: Batch,
  known: ReadonlyMap<string, SeriesTotal>,
  counts: ReadonlyMap<string, number>,
  now: Millis,
): Sums {
  const series = new Map<string, SeriesTotal>()
  const room = new Map<string, number>()
  let overflowed = 0
  for (const [name, increment] of bySeries) {
    let place = name
    let own = increment
    if (!known.has(name)) {
      const metric = countNameOf(increment.metric, shapeOf(increment.amount))
      const most = Math.min(maxSeries, increment.maxSeries ?? maxSeries)
      const left = room.get(metric) ?? most - 1 - (counts.get(metric) ?? 0)
      if (left > 0) room.set(metric, left - 1)
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
      // The interval of a point excludes its start.
      startedAt: before?.startedAt ?? now - 1,
    })
  }
  return { series, overflowed }
}

/** The limit of series applies to each metric and shape. */
export function countNameOf(metric: string, shape: string): string {
  return JSON.stringify([metric, shape])
}

function overflowing(increment: Increment): Increment {
  return { ...increment, attributes: overflowAttributes }
}

/** Added up under a plain name first: hashes are slow, and most series occur in every pipeline of a batch. */
function summed(increments: readonly Increment[]): ReadonlyMap<string, Increment> {
  const sums = new Map<string, Increment>()
  const shapes = new Map<unknown, string>()
  for (const increment of increments) {
    const { metric, attributes, amount } = increment
    const buckets = amount.kind === 'histogram' ? amount.bounds : amount.kind
    const shape = shapes.get(buckets) ?? shapeOf(amount)
    shapes.set(buckets, shape)
    add(sums, `${metric}\n${shape}\n${attributes}`, increment)
  }
  return sums
}

function add(series: Map<string, Increment>, name: string, increment: Increment): void {
  const before = series.get(name)
  series.set(name, before === undefined ? increment : { ...before, amount: added(before.amount, increment.amount) })
}
