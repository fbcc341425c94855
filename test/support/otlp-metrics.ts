// A metrics export request as a backend keeps it: every kind of metric with its points in plain form.
import { metricsRequest } from './otlp-messages.ts'
import { plainResource, plainScope, type ReceivedResource, type ReceivedScope } from '../../src/demo/otlp-values.ts'
import type { WireResource, WireScope } from '../../src/demo/otlp-values.ts'
import { exponentialPoint, histogramPoint, numberPoint, summaryPoint } from './otlp-points.ts'
import type { ExponentialPoint, HistogramPoint, NumberPoint, SummaryPoint } from './otlp-points.ts'
import type { WireExponentialPoint, WireHistogramPoint, WireNumberPoint, WireSummaryPoint } from './otlp-points.ts'

export type Temporality = 'unspecified' | 'delta' | 'cumulative'

interface MetricHead {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly resource: ReceivedResource
  readonly scope: ReceivedScope
}

/** One metric of one request, distinguished by `kind`. A metric without data has kind `empty`. */
export type ReceivedMetric = MetricHead &
  (
    | { readonly kind: 'empty'; readonly points: readonly [] }
    | { readonly kind: 'gauge'; readonly points: readonly NumberPoint[] }
    | {
        readonly kind: 'sum'
        readonly temporality: Temporality
        readonly monotonic: boolean
        readonly points: readonly NumberPoint[]
      }
    | { readonly kind: 'histogram'; readonly temporality: Temporality; readonly points: readonly HistogramPoint[] }
    | {
        readonly kind: 'exponential-histogram'
        readonly temporality: Temporality
        readonly points: readonly ExponentialPoint[]
      }
    | { readonly kind: 'summary'; readonly points: readonly SummaryPoint[] }
  )

interface WireMetric {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly data?: 'gauge' | 'sum' | 'histogram' | 'exponentialHistogram' | 'summary'
  readonly gauge: { readonly dataPoints: readonly WireNumberPoint[] }
  readonly sum: {
    readonly dataPoints: readonly WireNumberPoint[]
    readonly aggregationTemporality: number
    readonly isMonotonic: boolean
  }
  readonly histogram: { readonly dataPoints: readonly WireHistogramPoint[]; readonly aggregationTemporality: number }
  readonly exponentialHistogram: {
    readonly dataPoints: readonly WireExponentialPoint[]
    readonly aggregationTemporality: number
  }
  readonly summary: { readonly dataPoints: readonly WireSummaryPoint[] }
}

interface WireMetricsRequest {
  readonly resourceMetrics: readonly {
    readonly resource?: WireResource | null
    readonly schemaUrl: string
    readonly scopeMetrics: readonly {
      readonly scope?: WireScope | null
      readonly schemaUrl: string
      readonly metrics: readonly WireMetric[]
    }[]
  }[]
}

const temporalities = ['unspecified', 'delta', 'cumulative'] as const

/** Throws on bytes that are no ExportMetricsServiceRequest. */
export function decodeMetrics(body: Uint8Array): ReceivedMetric[] {
  const request = metricsRequest.decode(body) as unknown as WireMetricsRequest
  return request.resourceMetrics.flatMap(({ resource, schemaUrl, scopeMetrics }) => {
    const from = plainResource(resource, schemaUrl)
    return scopeMetrics.flatMap(group => {
      const scope = plainScope(group.scope, group.schemaUrl)
      return group.metrics.map(metric => plainMetric(metric, from, scope))
    })
  })
}

function plainMetric(metric: WireMetric, resource: ReceivedResource, scope: ReceivedScope): ReceivedMetric {
  const head: MetricHead = {
    name: metric.name,
    description: metric.description,
    unit: metric.unit,
    resource,
    scope,
  }
  switch (metric.data) {
    case 'gauge':
      return { ...head, kind: 'gauge', points: metric.gauge.dataPoints.map(numberPoint) }
    case 'sum': {
      const { dataPoints, isMonotonic, aggregationTemporality } = metric.sum
      const temporality = temporalityOf(aggregationTemporality)
      return { ...head, kind: 'sum', temporality, monotonic: isMonotonic, points: dataPoints.map(numberPoint) }
    }
    case 'histogram': {
      const { dataPoints, aggregationTemporality } = metric.histogram
      const temporality = temporalityOf(aggregationTemporality)
      return { ...head, kind: 'histogram', temporality, points: dataPoints.map(histogramPoint) }
    }
    case 'exponentialHistogram': {
      const { dataPoints, aggregationTemporality } = metric.exponentialHistogram
      const temporality = temporalityOf(aggregationTemporality)
      return { ...head, kind: 'exponential-histogram', temporality, points: dataPoints.map(exponentialPoint) }
    }
    case 'summary':
      return { ...head, kind: 'summary', points: metric.summary.dataPoints.map(summaryPoint) }
    default:
      return { ...head, kind: 'empty', points: [] }
  }
}

function temporalityOf(code: number): Temporality {
  return temporalities[code] ?? 'unspecified'
}
