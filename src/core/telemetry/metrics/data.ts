// Metrics with their points, and their OTLP messages.
import { attributesFrom } from '../otlp/attribute.ts'
import { resourceWith, scope } from '../resource.ts'
import { schemaUrl } from '../mapping/semconv.ts'
import type { AttributeSet } from '../otlp/attribute.ts'
import type { Exemplar } from '../../../model/totals.ts'
import type {
  Exemplar as OtlpExemplar,
  HistogramPoint,
  Metric,
  NumberPoint,
  ResourceMetrics,
} from '../otlp/messages.ts'
import type { MetricHead } from '../mapping/metric-row.ts'
import type { Millis } from '../../../model/instant.ts'

export type Temporality = 'cumulative' | 'delta'

export interface Buckets {
  /** Upper bounds. There is one more count, for values above the last. */
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
  /** Only for delta points, as totals do not keep them. */
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** Attributes of points are strings, except for the overflow mark. */
export type PointAttributes = Readonly<Record<string, string | boolean>>

export interface Point {
  readonly attributes: PointAttributes
  readonly start: Millis
  readonly end: Millis
  readonly value: number | Buckets
  readonly exemplar?: Exemplar | undefined
}

export interface MeasuredMetric {
  readonly head: MetricHead
  /** The name as exported. */
  readonly name: string
  readonly temporality: Temporality
  readonly points: readonly Point[]
}

export function sumOf(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}

export function resourceMetrics(
  attributes: readonly AttributeSet[],
  metrics: readonly MeasuredMetric[],
): ResourceMetrics {
  return {
    resource: resourceWith(attributes),
    schemaUrl,
    scopeMetrics: [{ scope, metrics: metrics.map(toMetric), schemaUrl }],
  }
}

function toExemplar({ at, value, traceId, spanId }: Exemplar, number: MetricHead['number']): OtlpExemplar {
  const measured = number === 'int' ? { asInt: value } : { asDouble: value }
  return { timeUnixNano: Math.round(at), ...measured, traceId, spanId, filteredAttributes: [] }
}

/** AggregationTemporality of the protocol. */
const temporalities = { delta: 1, cumulative: 2 } as const

function toMetric({ head, name, temporality, points }: MeasuredMetric): Metric {
  const common = { name, description: head.description, unit: head.unit }
  const aggregationTemporality = temporalities[temporality]
  const dataPoints = points.map(point => toPoint(point, head))
  switch (head.type) {
    case 'gauge':
      return { ...common, gauge: { dataPoints: dataPoints } }
    case 'histogram':
      return { ...common, histogram: { aggregationTemporality, dataPoints: dataPoints as HistogramPoint[] } }
    case 'counter':
    case 'updowncounter':
      return {
        ...common,
        sum: { aggregationTemporality, isMonotonic: head.type === 'counter', dataPoints: dataPoints },
      }
  }
}

function toPoint(
  { attributes, start, end, value, exemplar }: Point,
  { number }: MetricHead,
): NumberPoint | HistogramPoint {
  const time = { startTimeUnixNano: Math.round(start), timeUnixNano: Math.round(end) }
  const common = { attributes: attributesFrom(attributes), exemplars: exemplar && [toExemplar(exemplar, number)] }
  if (typeof value === 'number') return { ...common, ...time, [number === 'int' ? 'asInt' : 'asDouble']: value }
  const { bounds, counts, sum, min, max } = value
  return { ...common, bucketCounts: counts, explicitBounds: bounds, count: sumOf(counts), sum, min, max, ...time }
}
