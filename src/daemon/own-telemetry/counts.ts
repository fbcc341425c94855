// Counters of features as rows of the table of the daemon's own metrics.
import type { CountOf } from '../feature.ts'
import type { ObservedMetric } from './table.ts'
import type { Point } from './observe-parts.ts'

/** A counter, or several by their keys. */
type Counted = number | ReadonlyMap<string, Counted> | { readonly [key: string]: Counted }

interface Counting {
  readonly counts?: readonly CountOf[]
}

/** No point of a feature that does not run. */
export function countedMetrics(features: readonly Counting[]): ObservedMetric[] {
  return features
    .flatMap(one => one.counts ?? [])
    .map(({ name, unit, description, counter, attributes = [] }) => ({
      ...{ name, unit, description, type: 'counter' },
      attributes: typeof counter === 'string' ? attributes : [counter.attribute],
      points: ({ counted }) => counted.get(name) ?? [],
    }))
}

/** The points of a feature's counters by the names of their metrics. `sums`: those of its parts; undefined: none runs. */
export function countedBy(
  { counts = [] }: Counting,
  sums: { readonly counters: object } | undefined,
): [name: string, points: readonly Point[]][] {
  if (sums === undefined) return []
  const all = new Map(Object.entries<Counted>(sums.counters as Readonly<Record<string, Counted>>))
  return counts.map(({ name, counter, attributes = [] }) => {
    if (typeof counter === 'string') return [name, pointsOf(all.get(counter), attributes)]
    const several = Object.entries(counter.values).map(([value, one]) => [value, all.get(one) ?? {}] as const)
    return [name, pointsOf(new Map(several), [counter.attribute])]
  })
}

/** None of a counter that is missing. */
function pointsOf(counted: Counted = {}, [attribute, ...others]: readonly string[]): Point[] {
  if (typeof counted === 'number') return [{ value: counted }]
  const entries: [string, Counted][] =
    counted instanceof Map
      ? [...(counted as ReadonlyMap<string, Counted>)]
      : Object.entries<Counted>(counted as Readonly<Record<string, Counted>>)
  return entries.flatMap(([key, one]) =>
    pointsOf(one, others).map(({ value, attributes }) => ({
      value,
      attributes: { ...(attribute !== undefined && { [attribute]: key }), ...attributes },
    })),
  )
}
