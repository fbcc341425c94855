// Merges the delta metrics of several chunks for one request. Two pipelines may end in the same millisecond, but a backend accepts only one data
// point per series and timestamp and drops or rejects a second one. A merged data point has the content of its sources: counts, sums and buckets are
// added, and all exemplars are kept.
import { plainAttributes, type AttributeSet } from '../otlp/attribute.ts'
import { sorted } from './samples.ts'
import type { HistogramPoint, Metric, NumberPoint, ResourceMetrics } from '../otlp/messages.ts'
import type { PointAttributes } from './data.ts'

/** Returns one ResourceMetrics per resource, with one metric per name and type, and one data point per series and timestamp. */
export function joinedMetrics(all: readonly ResourceMetrics[]): ResourceMetrics[] {
  const resources = Map.groupBy(all, ({ resource }) => keyOf(resource.attributes))
  return [...resources.values()].flatMap(some => {
    const [first] = some
    const [scope] = first?.scopeMetrics ?? []
    if (first === undefined || scope === undefined || some.length === 1) return some
    const metrics = some.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(one => one.metrics))
    const byName = Map.groupBy(metrics, ({ name, sum, histogram }) => `${name} ${sum ? 's' : histogram ? 'h' : 'g'}`)
    return [{ ...first, scopeMetrics: [{ ...scope, metrics: [...byName.values()].flatMap(joinedMetric) }] }]
  })
}

function joinedMetric(some: readonly Metric[]): Metric[] {
  const [first] = some
  if (first === undefined || some.length === 1) return [...some]
  const join = <P extends AnyPoint, D extends { readonly dataPoints: readonly P[] }>(
    of: (metric: Metric) => D | undefined,
    both: (a: P, b: P) => P,
  ): D | undefined => {
    const dataPoints = joinedPoints(
      some.flatMap((metric): readonly P[] => of(metric)?.dataPoints ?? []),
      both,
    )
    const own = of(first)
    return own && { ...own, dataPoints }
  }
  return [
    {
      ...first,
      // Keeps the gauge value that was exported last, as a backend would.
      gauge: join(
        ({ gauge }) => gauge,
        (_: NumberPoint, later) => later,
      ),
      sum: join(({ sum }) => sum, added),
      histogram: join(({ histogram }) => histogram, addedBuckets),
    },
  ]
}

type AnyPoint = NumberPoint | HistogramPoint

function joinedPoints<P extends AnyPoint>(points: readonly P[], join: (a: P, b: P) => P): P[] {
  const found = new Map<string, P>()
  for (const point of points) {
    // A backlog may contain points with the bucket bounds of an earlier configuration. Their buckets cannot be added to those of newer points.
    const bounds = 'explicitBounds' in point ? point.explicitBounds : []
    const key = `${point.timeUnixNano} ${keyOf(point.attributes)} ${bounds.join()}`
    const known = found.get(key)
    found.set(key, known === undefined ? point : join(known, point))
  }
  return [...found.values()]
}

function added(a: NumberPoint, b: NumberPoint): NumberPoint {
  return {
    ...{ ...a, ...common(a, b) },
    asInt: a.asInt === undefined ? undefined : a.asInt + (b.asInt ?? 0),
    asDouble: a.asDouble === undefined ? undefined : a.asDouble + (b.asDouble ?? 0),
  }
}

/** Adds two histogram points with the same bucket bounds. */
function addedBuckets(a: HistogramPoint, b: HistogramPoint): HistogramPoint {
  return {
    ...{ ...a, ...common(a, b) },
    count: a.count + b.count,
    sum: a.sum + b.sum,
    bucketCounts: a.bucketCounts.map((count, at) => count + (b.bucketCounts[at] ?? 0)),
    min: extreme(Math.min, a.min, b.min),
    max: extreme(Math.max, a.max, b.max),
  }
}

function common(a: AnyPoint, b: AnyPoint): Pick<AnyPoint, 'startTimeUnixNano' | 'exemplars'> {
  const exemplars = [...(a.exemplars ?? []), ...(b.exemplars ?? [])]
  return {
    startTimeUnixNano: Math.min(a.startTimeUnixNano, b.startTimeUnixNano),
    exemplars: exemplars.length === 0 ? undefined : exemplars,
  }
}

function extreme(of: (...values: number[]) => number, ...values: (number | undefined)[]): number | undefined {
  const known = values.filter(value => value !== undefined)
  return known.length === 0 ? undefined : of(...known)
}

function keyOf(attributes: readonly AttributeSet[]): string {
  return sorted(plainAttributes(attributes) as PointAttributes)
}
