// A metrics export request as a backend keeps it: each metric with its points in plain form. Only what the product sends is read: gauges, sums and
// histograms. Field names and numbers are those of opentelemetry-proto; the packages are folded into one.
import protobuf from 'protobufjs'
import { root } from '../../src/simulator/otlp-messages.ts'
import {
  millisOf,
  plainAttributes,
  plainId,
  plainInt,
  plainResource,
  plainScope,
  type Attributes,
  type Int64,
  type ReceivedResource,
  type ReceivedScope,
  type WireKeyValue,
  type WireResource,
  type WireScope,
} from './otlp-values.ts'

protobuf.parse(
  `
syntax = "proto3";

message MetricsRequest { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; string schema_url = 3; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; string schema_url = 3; }
message Metric {
  string name = 1; string description = 2; string unit = 3;
  oneof data { Gauge gauge = 5; Sum sum = 7; Histogram histogram = 9; }
}
message Gauge { repeated NumberPoint data_points = 1; }
message Sum { repeated NumberPoint data_points = 1; int32 aggregation_temporality = 2; bool is_monotonic = 3; }
message Histogram { repeated HistogramPoint data_points = 1; int32 aggregation_temporality = 2; }
message NumberPoint {
  repeated KeyValue attributes = 7; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3;
  oneof value { double as_double = 4; sfixed64 as_int = 6; }
  repeated Exemplar exemplars = 5; uint32 flags = 8;
}
message HistogramPoint {
  repeated KeyValue attributes = 9; fixed64 start_time_unix_nano = 2; fixed64 time_unix_nano = 3; fixed64 count = 4;
  optional double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7;
  repeated Exemplar exemplars = 8; uint32 flags = 10; optional double min = 11; optional double max = 12;
}
message Exemplar {
  repeated KeyValue filtered_attributes = 7; fixed64 time_unix_nano = 2;
  oneof value { double as_double = 3; sfixed64 as_int = 6; }
  bytes span_id = 4; bytes trace_id = 5;
}
`,
  root,
)

/** ExportMetricsServiceRequest. */
const metricsRequest = root.lookupType('MetricsRequest')

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
  )

interface PointHead {
  readonly attributes: Attributes
  /** Unix nanoseconds, exact; 0 when the point says none. */
  readonly startNanos: bigint
  readonly nanos: bigint
  /** Unix milliseconds. */
  readonly start: number
  readonly time: number
  readonly exemplars: readonly ReceivedExemplar[]
}

export interface NumberPoint extends PointHead {
  readonly value: number | bigint | undefined
  /** True for `as_int`. */
  readonly integer: boolean
}

export interface HistogramPoint extends PointHead {
  readonly count: number | bigint
  readonly sum: number | undefined
  readonly min: number | undefined
  readonly max: number | undefined
  readonly bounds: readonly number[]
  readonly counts: readonly (number | bigint)[]
}

export interface ReceivedExemplar {
  readonly value: number | bigint | undefined
  readonly nanos: bigint
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  readonly attributes: Attributes
}

interface WireNumber {
  readonly value?: 'asDouble' | 'asInt'
  readonly asDouble: number
  readonly asInt: Int64
}

interface WireExemplar extends WireNumber {
  readonly filteredAttributes: readonly WireKeyValue[]
  readonly timeUnixNano: Int64
  readonly spanId: Uint8Array
  readonly traceId: Uint8Array
}

interface WirePoint {
  readonly attributes: readonly WireKeyValue[]
  readonly startTimeUnixNano: Int64
  readonly timeUnixNano: Int64
  readonly exemplars: readonly WireExemplar[]
}

type WireNumberPoint = WirePoint & WireNumber

interface WireHistogramPoint extends WirePoint {
  readonly count: Int64
  readonly sum?: number
  readonly min?: number
  readonly max?: number
  readonly bucketCounts: readonly Int64[]
  readonly explicitBounds: readonly number[]
}

interface WireMetric {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly data?: 'gauge' | 'sum' | 'histogram'
  readonly gauge: { readonly dataPoints: readonly WireNumberPoint[] }
  readonly sum: {
    readonly dataPoints: readonly WireNumberPoint[]
    readonly aggregationTemporality: number
    readonly isMonotonic: boolean
  }
  readonly histogram: { readonly dataPoints: readonly WireHistogramPoint[]; readonly aggregationTemporality: number }
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
  const { name, description, unit } = metric
  const head: MetricHead = { name, description, unit, resource, scope }
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
    default:
      return { ...head, kind: 'empty', points: [] }
  }
}

function temporalityOf(code: number): Temporality {
  return temporalities[code] ?? 'unspecified'
}

function pointHead(point: WirePoint): PointHead {
  const startNanos = point.startTimeUnixNano.toBigInt()
  const nanos = point.timeUnixNano.toBigInt()
  return {
    attributes: plainAttributes(point.attributes),
    startNanos,
    nanos,
    start: millisOf(startNanos),
    time: millisOf(nanos),
    exemplars: point.exemplars.map(exemplar),
  }
}

function numberPoint(point: WireNumberPoint): NumberPoint {
  return { ...pointHead(point), value: numberOf(point), integer: point.value === 'asInt' }
}

function histogramPoint(point: WireHistogramPoint): HistogramPoint {
  return {
    ...pointHead(point),
    count: plainInt(point.count),
    // An optional field that was not sent has its default on the prototype only.
    sum: Object.hasOwn(point, 'sum') ? point.sum : undefined,
    min: Object.hasOwn(point, 'min') ? point.min : undefined,
    max: Object.hasOwn(point, 'max') ? point.max : undefined,
    bounds: [...point.explicitBounds],
    counts: point.bucketCounts.map(plainInt),
  }
}

function exemplar(found: WireExemplar): ReceivedExemplar {
  return {
    value: numberOf(found),
    nanos: found.timeUnixNano.toBigInt(),
    traceId: plainId(found.traceId),
    spanId: plainId(found.spanId),
    attributes: plainAttributes(found.filteredAttributes),
  }
}

function numberOf(holder: WireNumber): number | bigint | undefined {
  if (holder.value === 'asInt') return plainInt(holder.asInt)
  return holder.value === 'asDouble' ? holder.asDouble : undefined
}
