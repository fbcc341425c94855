// What a batch of increments makes of the totals that are stored: pure, and the same on every database.
import { createHash } from 'node:crypto'
import {
  added,
  overflowAttributes,
  seriesId,
  shapeOf,
  type Increment,
  type ProjectIncrements,
  type SeriesTotal,
} from '../../model/totals.ts'
import type { Millis } from '../../model/instant.ts'

/** The increments of one project, one for each series. */
export interface Batch extends ProjectIncrements {
  /** By the name under which a series is stored. */
  readonly bySeries: ReadonlyMap<string, Increment>
  /** Increments whose ref was folded. */
  readonly folded: number
}

export interface Sums {
  /** By the name under which they are stored. */
  readonly series: ReadonlyMap<string, SeriesTotal>
  /** Series that found no room and went to the overflow series. */
  readonly overflowed: number
}

/** The name a series is stored under: attributes may be too long for an index. */
export function storedName(series: Increment | SeriesTotal): string {
  return createHash('sha256').update(seriesId(series)).digest('base64url')
}

/** A batch for each project, in the order in which everybody locks them. */
export function batchesOf(all: readonly ProjectIncrements[]): Batch[] {
  const byProject = Map.groupBy(all, ({ key }) => JSON.stringify([key.instance, key.projectId]))
  return [...byProject]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, ofProject]) => {
      const newest = ofProject.at(-1)
      if (newest === undefined) return []
      const increments = ofProject.flatMap(one => one.increments)
      const bySeries = new Map<string, Increment>()
      for (const increment of increments) add(bySeries, storedName(increment), increment)
      return [{ ...newest, increments, bySeries, folded: increments.filter(({ folded }) => folded === true).length }]
    })
}

/** Names of all series that a batch can touch: its own, and the overflow series of its metrics. */
export function namesOf({ bySeries }: Batch): string[] {
  const overflows = [...bySeries.values()].map(increment => storedName(overflowing(increment)))
  return [...new Set([...bySeries.keys(), ...overflows])]
}

/**
 * What to write. `known`: the stored series of `namesOf`. `counts`: how many series a metric of this shape has
 * (`countName`), the overflow series left out; asked only for metrics with a new series.
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
      const metric = countName(increment)
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
      // A point's window does not include its start.
      startedAt: before?.startedAt ?? now - 1,
    })
  }
  return { series, overflowed }
}

/** A metric and its shape: what a limit of series holds for. */
export function countName({ metric, amount }: Pick<Increment, 'metric' | 'amount'>): string {
  return countNameOf(metric, shapeOf(amount))
}

export function countNameOf(metric: string, shape: string): string {
  return JSON.stringify([metric, shape])
}

function overflowing(increment: Increment): Increment {
  return { ...increment, attributes: overflowAttributes }
}

function add(series: Map<string, Increment>, name: string, increment: Increment): void {
  const before = series.get(name)
  series.set(name, before === undefined ? increment : { ...before, amount: added(before.amount, increment.amount) })
}
