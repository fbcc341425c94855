// Metrics with their points, and the OTLP messages built from them.
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
  /** The upper bounds of the buckets. There is one more count than there are bounds, for values above the last bound. */
  readonly bounds: readonly number[]
  readonly counts: readonly number[]
  readonly sum: number
  /** The smallest value. It is set only for delta points, because totals do not store it. */
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** The attributes of a metric point. All are strings, except for the overflow mark. */
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
  /** The metric name as exported. */
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

/** The values of OTLP's AggregationTemporality. */
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
