// Counters of features as rows of the table of the daemon's own metrics.
import type { CountOf } from '../feature.ts'
import type { ObservedMetric } from './table.ts'
import type { Point } from './observe-parts.ts'

interface Counting {
  readonly counts?: readonly CountOf[]
}

/** No point of a feature that does not run. */
export function countedMetrics(features: readonly Counting[]): ObservedMetric[] {
  return features
    .flatMap(one => one.counts ?? [])
    .map(({ name, unit, description, counter }) => ({
      ...{ name, unit, description, type: 'counter' },
      attributes: typeof counter === 'string' ? [] : [counter.attribute],
      points: ({ counted }) => counted.get(name) ?? [],
    }))
}

/** The points of a feature's counters by the names of their metrics. `sums`: those of its parts; undefined: none runs. */
export function countedBy(
  { counts = [] }: Counting,
  sums: { readonly counters: object } | undefined,
): [name: string, points: readonly Point[]][] {
  if (sums === undefined) return []
  const all = new Map(Object.entries(sums.counters))
  const point = (counter: string, attributes?: Point['attributes']): Point[] =>
    all.has(counter) ? [{ value: Number(all.get(counter)), attributes }] : []
  return counts.map(({ name, counter: of }) => [
    name,
    typeof of === 'string'
      ? point(of)
      : Object.entries(of.values).flatMap(([value, counter]) => point(counter, { [of.attribute]: value })),
  ])
}
