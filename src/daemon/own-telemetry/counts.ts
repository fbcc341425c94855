// Counters of features as rows of the table of the daemon's own metrics.
import type { ObservedMetric } from './table.ts'

export interface CountOf {
  readonly name: string
  readonly unit: string
  readonly description: string
  /** The counter of the feature's parts. */
  readonly counter: string
}

interface Counting {
  readonly counts?: readonly CountOf[]
}

/** No point of a feature that does not run. */
export function countedMetrics(features: readonly Counting[]): ObservedMetric[] {
  return features
    .flatMap(one => one.counts ?? [])
    .map(({ name, unit, description }) => ({
      ...{ name, unit, description, type: 'counter', attributes: [] },
      points: ({ counted }) => {
        const value = counted.get(name)
        return value === undefined ? [] : [{ value }]
      },
    }))
}

/** The values of a feature's counters by the names of their metrics. `sums`: those of its parts; undefined: none runs. */
export function countedBy(
  { counts = [] }: Counting,
  sums: { readonly counters: object } | undefined,
): [name: string, value: number][] {
  if (sums === undefined) return []
  const all = new Map(Object.entries(sums.counters))
  return counts.map(({ name, counter }) => [name, Number(all.get(counter))])
}
