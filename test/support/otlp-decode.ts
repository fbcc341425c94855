// Decodes export requests into plain spans, metrics and log records, each with its resource and scope, and into the record of a request that a
// receiver stores. Only the metric types that Pipespan sends are decoded: gauges, sums and histograms. Field names and numbers are those of
// opentelemetry-proto; its packages are merged into one.
import protobuf, { type Type } from 'protobufjs'
import { logsRequest, root, traceRequest } from '../../src/simulator/otlp-messages.ts'
import type { IncomingHttpHeaders } from 'node:http'

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

/** The value of an attribute. An int64 becomes a number if it is a safe integer, or else a bigint. */
type PlainValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | readonly PlainValue[]
  | { readonly [key: string]: PlainValue }

export type Attributes = Readonly<Record<string, PlainValue>>

/** A 64-bit integer as protobufjs decodes it (a Long). */
interface Int64 {
  toNumber(): number
  toBigInt(): bigint
}

interface WireAnyValue {
  /** The name of the member that is set in the oneof; undefined for OTLP's empty value. */
  readonly value?: string
  readonly stringValue: string
  readonly boolValue: boolean
  readonly intValue: Int64
  readonly doubleValue: number
  readonly arrayValue: { readonly values: readonly WireAnyValue[] }
  readonly kvlistValue: { readonly values: WireAttributes }
  readonly bytesValue: Uint8Array
}

type WireAttributes = readonly { readonly key: string; readonly value?: WireAnyValue | null }[]

interface Attributed {
  readonly attributes: WireAttributes
}

interface Context {
  readonly resource: { readonly attributes: Attributes; readonly schemaUrl: string }
  readonly scope: {
    readonly name: string
    readonly version: string
    readonly attributes: Attributes
    readonly schemaUrl: string
  }
}

interface ResourceGroup {
  readonly resource?: Attributed | null
  readonly schemaUrl: string
}

interface ScopeGroup {
  readonly scope?: (Attributed & { readonly name: string; readonly version: string }) | null
  readonly schemaUrl: string
}

/**
 * Decodes a request. `fields`: the field names at its three levels, such as `resourceSpans`, `scopeSpans` and `spans`. Throws if the bytes are not a
 * request of this type.
 */
function decoded<Plain>(
  type: Type,
  body: Uint8Array,
  fields: readonly [string, string, string],
  plain: (item: never, context: Context) => Plain,
): Plain[] {
  const [byResource, byScope, items] = fields
  const groups = Reflect.get(type.decode(body), byResource) as readonly ResourceGroup[]
  return groups.flatMap(group => {
    const resource = { attributes: plainAttributes(group.resource?.attributes), schemaUrl: group.schemaUrl }
    return (Reflect.get(group, byScope) as readonly ScopeGroup[]).flatMap(inner => {
      const { name = '', version = '', attributes } = inner.scope ?? {}
      const scope = { name, version, attributes: plainAttributes(attributes), schemaUrl: inner.schemaUrl }
      return (Reflect.get(inner, items) as readonly never[]).map(item => plain(item, { resource, scope }))
    })
  })
}

/**
 * Converts attributes to a plain object. If a key occurs twice, the later value is used, as in backends. The object has no prototype, so that
 * `__proto__` is an ordinary key.
 */
function plainAttributes(list: WireAttributes = []): Attributes {
  const attributes = Object.create(null) as Record<string, PlainValue>
  for (const { key, value } of list) attributes[key] = plainValue(value)
  return attributes
}

function plainValue(value: WireAnyValue | null | undefined): PlainValue {
  switch (value?.value) {
    case 'stringValue':
      return value.stringValue
    case 'boolValue':
      return value.boolValue
    case 'intValue':
      return plainInt(value.intValue)
    case 'doubleValue':
      return value.doubleValue
    case 'arrayValue':
      return value.arrayValue.values.map(plainValue)
    case 'kvlistValue':
      return plainAttributes(value.kvlistValue.values)
    case 'bytesValue':
      return new Uint8Array(value.bytesValue)
    default:
      return null
  }
}

function plainInt(value: Int64): number | bigint {
  const number = value.toNumber()
  return Number.isSafeInteger(number) ? number : value.toBigInt()
}

/** Returns an id in lower-case hex; undefined for an empty id. */
function plainId(bytes: Uint8Array): string | undefined {
  return bytes.length === 0 ? undefined : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
}

/** Returns a time in whole milliseconds of Unix time, so that it can be compared with the platform's times. */
function millisOf(nanos: Int64): number {
  return Number(nanos.toBigInt() / 1_000_000n)
}

interface WireSpan extends Attributed {
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly parentSpanId: Uint8Array
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: Int64
  readonly endTimeUnixNano: Int64
  readonly status?: { readonly code: number } | null
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const
const statuses = ['unset', 'ok', 'error'] as const

export type ReceivedSpan = Readonly<ReturnType<typeof plainSpan>>

function plainSpan(span: WireSpan, context: Context) {
  const { flags, name, startTimeUnixNano, endTimeUnixNano } = span
  return {
    ...{ flags, name, ...context },
    traceId: plainId(span.traceId) ?? '',
    spanId: plainId(span.spanId) ?? '',
    parentSpanId: plainId(span.parentSpanId),
    kind: kinds[span.kind] ?? ('unspecified' as const),
    // The span's times in exact nanoseconds and, in addition, in milliseconds (Unix time).
    startNanos: startTimeUnixNano.toBigInt(),
    endNanos: endTimeUnixNano.toBigInt(),
    start: millisOf(startTimeUnixNano),
    end: millisOf(endTimeUnixNano),
    status: statuses[span.status?.code ?? 0] ?? ('unset' as const),
    attributes: plainAttributes(span.attributes),
  }
}

export function decodeTraces(body: Uint8Array): ReceivedSpan[] {
  return decoded(traceRequest, body, ['resourceSpans', 'scopeSpans', 'spans'], plainSpan)
}

interface WireLogRecord extends Attributed {
  readonly timeUnixNano: Int64
  readonly observedTimeUnixNano: Int64
  readonly severityNumber: number
  readonly severityText: string
  readonly body?: WireAnyValue | null
  readonly eventName: string
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly flags: number
  readonly droppedAttributesCount: number
}

export type ReceivedLogRecord = Readonly<ReturnType<typeof plainLogRecord>>

function plainLogRecord(record: WireLogRecord, context: Context) {
  const { severityNumber, severityText, eventName, flags, droppedAttributesCount } = record
  return {
    ...{ severityNumber, severityText, eventName, flags, droppedAttributesCount, ...context },
    nanos: record.timeUnixNano.toBigInt(),
    observedNanos: record.observedTimeUnixNano.toBigInt(),
    time: millisOf(record.timeUnixNano),
    body: plainValue(record.body),
    traceId: plainId(record.traceId),
    spanId: plainId(record.spanId),
    attributes: plainAttributes(record.attributes),
  }
}

export function decodeLogs(body: Uint8Array): ReceivedLogRecord[] {
  return decoded(logsRequest, body, ['resourceLogs', 'scopeLogs', 'logRecords'], plainLogRecord)
}

interface WireNumber {
  readonly value?: 'asDouble' | 'asInt'
  readonly asDouble: number
  readonly asInt: Int64
}

interface WireExemplar extends WireNumber {
  readonly filteredAttributes: WireAttributes
  readonly timeUnixNano: Int64
  readonly spanId: Uint8Array
  readonly traceId: Uint8Array
}

interface WirePoint extends Attributed {
  readonly startTimeUnixNano: Int64
  readonly timeUnixNano: Int64
  readonly exemplars: readonly WireExemplar[]
}

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
  readonly gauge: { readonly dataPoints: readonly (WirePoint & WireNumber)[] }
  readonly sum: WireMetric['gauge'] & { readonly aggregationTemporality: number; readonly isMonotonic: boolean }
  readonly histogram: { readonly dataPoints: readonly WireHistogramPoint[]; readonly aggregationTemporality: number }
}

const temporalities = ['unspecified', 'delta', 'cumulative'] as const

export type ReceivedMetric = Readonly<ReturnType<typeof plainMetric>>

/** Converts a metric to its plain form. Metric types are distinguished by `kind`. A metric without data has the kind `empty`. */
function plainMetric({ name, description, unit, data, gauge, sum, histogram }: WireMetric, context: Context) {
  const head = { name, description, unit, ...context }
  switch (data) {
    case 'gauge':
      return { ...head, kind: 'gauge' as const, points: gauge.dataPoints.map(numberPoint) }
    case 'sum': {
      const temporality = temporalityOf(sum.aggregationTemporality)
      const points = sum.dataPoints.map(numberPoint)
      return { ...head, kind: 'sum' as const, temporality, monotonic: sum.isMonotonic, points }
    }
    case 'histogram': {
      const temporality = temporalityOf(histogram.aggregationTemporality)
      return { ...head, kind: 'histogram' as const, temporality, points: histogram.dataPoints.map(histogramPoint) }
    }
    default:
      return { ...head, kind: 'empty' as const, points: [] as const }
  }
}

function temporalityOf(code: number) {
  return temporalities[code] ?? ('unspecified' as const)
}

function pointHead(point: WirePoint) {
  return {
    attributes: plainAttributes(point.attributes),
    // The start time of the data point in exact nanoseconds; 0 if it has none.
    startNanos: point.startTimeUnixNano.toBigInt(),
    nanos: point.timeUnixNano.toBigInt(),
    start: millisOf(point.startTimeUnixNano),
    time: millisOf(point.timeUnixNano),
    exemplars: point.exemplars.map(found => ({
      value: numberOf(found),
      nanos: found.timeUnixNano.toBigInt(),
      traceId: plainId(found.traceId),
      spanId: plainId(found.spanId),
      attributes: plainAttributes(found.filteredAttributes),
    })),
  }
}

function numberPoint(point: WirePoint & WireNumber) {
  return { ...pointHead(point), value: numberOf(point), integer: point.value === 'asInt' }
}

function histogramPoint(point: WireHistogramPoint) {
  return {
    ...pointHead(point),
    count: plainInt(point.count),
    // protobufjs puts the defaults of optional fields on the prototype. So a field was sent only if the point itself has it.
    sum: Object.hasOwn(point, 'sum') ? point.sum : undefined,
    min: Object.hasOwn(point, 'min') ? point.min : undefined,
    max: Object.hasOwn(point, 'max') ? point.max : undefined,
    bounds: [...point.explicitBounds],
    counts: point.bucketCounts.map(plainInt),
  }
}

function numberOf(holder: WireNumber): number | bigint | undefined {
  if (holder.value === 'asInt') return plainInt(holder.asInt)
  return holder.value === 'asDouble' ? holder.asDouble : undefined
}

export function decodeMetrics(body: Uint8Array): ReceivedMetric[] {
  const fields = ['resourceMetrics', 'scopeMetrics', 'metrics'] as const
  return decoded(root.lookupType('MetricsRequest'), body, fields, plainMetric)
}

export type Signal = 'traces' | 'metrics' | 'logs'

/** The content of an export request. Only the list of the request's own signal has items; the other two lists are empty. */
export interface Telemetry {
  readonly spans: readonly ReceivedSpan[]
  readonly metrics: readonly ReceivedMetric[]
  readonly logs: readonly ReceivedLogRecord[]
}

/** One export request as recorded by the receiver: its content, its time, and the response. */
export interface ReceivedRequest extends Telemetry {
  readonly path: string
  readonly signal: Signal
  readonly headers: IncomingHttpHeaders
  /** The size of the request's body in bytes, as sent. */
  readonly size: number
  /** The size of the request's body in bytes, after decompression. */
  readonly plainSize: number
  /** The IDs of the spans, in the order in which they were sent. */
  readonly spanIds: readonly string[]
  /** When the request's body was complete, Unix ms. */
  readonly at: number
  /** The HTTP status of the response; undefined before the response is sent, and if the connection was closed without one. */
  readonly status: number | undefined
  /** Whether the request's data counts as received. */
  readonly kept: boolean
}

/** Decodes an export request. Throws if the bytes are not a request of this signal. */
export function decodeTelemetry(signal: Signal, body: Uint8Array): Telemetry {
  return {
    spans: signal === 'traces' ? decodeTraces(body) : [],
    metrics: signal === 'metrics' ? decodeMetrics(body) : [],
    logs: signal === 'logs' ? decodeLogs(body) : [],
  }
}
