// Declares the OTLP messages that are sent, as tables of their fields. The writer and the types are both derived from these tables. The field names
// are from OTLP/JSON, the field numbers from opentelemetry-proto (common.proto, resource.proto, trace.proto, logs.proto, metrics.proto).
import {
  anyValue,
  bool,
  count,
  counts,
  double,
  doubles,
  flags,
  hex,
  instant,
  message,
  optional,
  repeated,
  string,
  uint32,
  unlessEmpty,
  type Kind,
  type ValueOf,
} from './kinds.ts'
import { attributes } from './attribute.ts'
import { SpanKind, TraceFlags, type SpanContext } from '@opentelemetry/api'

/**
 * A field that exists only in OTLP/JSON: the official JSON serializer repeats the schema URL inside the resource, but the protobuf message has no
 * such field.
 */
const inJsonAlone: Kind<string | undefined> = { ...optional(string), write: () => undefined }

const resource = message({
  attributes: [1, attributes],
  droppedAttributesCount: [2, uint32],
  schemaUrl: [0, inJsonAlone],
})

const scope = message({ name: [1, string], version: [2, string] })

const event = message({
  timeUnixNano: [1, instant],
  name: [2, string],
  attributes: [3, attributes],
  droppedAttributesCount: [4, uint32],
})

const link = message({
  traceId: [1, hex],
  spanId: [2, hex],
  attributes: [4, attributes],
  droppedAttributesCount: [5, uint32],
  flags: [6, flags],
})

const status = message({ message: [2, optional(string)], code: [3, uint32] })

const span = message({
  traceId: [1, hex],
  spanId: [2, hex],
  parentSpanId: [4, optional(hex)],
  name: [5, string],
  kind: [6, uint32],
  startTimeUnixNano: [7, instant],
  endTimeUnixNano: [8, instant],
  attributes: [9, attributes],
  droppedAttributesCount: [10, uint32],
  events: [11, repeated(event)],
  droppedEventsCount: [12, uint32],
  links: [13, repeated(link)],
  droppedLinksCount: [14, uint32],
  status: [15, status],
  flags: [16, flags],
})

const logRecord = message({
  timeUnixNano: [1, instant],
  severityNumber: [2, unlessEmpty(uint32)],
  severityText: [3, unlessEmpty(string)],
  body: [5, anyValue],
  attributes: [6, attributes],
  droppedAttributesCount: [7, uint32],
  flags: [8, flags],
  traceId: [9, optional(hex)],
  spanId: [10, optional(hex)],
  observedTimeUnixNano: [11, instant],
  eventName: [12, optional(string)],
})

/** An exemplar has either `asInt` or `asDouble`. */
const exemplar = message({
  timeUnixNano: [2, instant],
  asDouble: [3, optional(double)],
  spanId: [4, optional(hex)],
  traceId: [5, optional(hex)],
  asInt: [6, optional(count)],
  filteredAttributes: [7, attributes],
})
const exemplars = repeated(exemplar)

/** A data point has either `asInt` or `asDouble`. */
const numberPoint = message({
  startTimeUnixNano: [2, instant],
  timeUnixNano: [3, instant],
  asDouble: [4, optional(double)],
  exemplars: [5, optional(exemplars)],
  asInt: [6, optional(count)],
  attributes: [7, attributes],
})

const histogramPoint = message({
  startTimeUnixNano: [2, instant],
  timeUnixNano: [3, instant],
  count: [4, count],
  sum: [5, double],
  bucketCounts: [6, counts],
  explicitBounds: [7, doubles],
  exemplars: [8, optional(exemplars)],
  attributes: [9, attributes],
  min: [11, optional(double)],
  max: [12, optional(double)],
})

const gauge = message({ dataPoints: [1, repeated(numberPoint)] })

const sum = message({
  dataPoints: [1, repeated(numberPoint)],
  aggregationTemporality: [2, uint32],
  isMonotonic: [3, bool],
})

const histogram = message({ dataPoints: [1, repeated(histogramPoint)], aggregationTemporality: [2, uint32] })

/** A metric has one of `gauge`, `sum` and `histogram`. */
const metric = message({
  name: [1, string],
  description: [2, string],
  unit: [3, string],
  gauge: [5, optional(gauge)],
  sum: [7, optional(sum)],
  histogram: [9, optional(histogram)],
})

const scopeSpans = message({ scope: [1, scope], spans: [2, repeated(span)], schemaUrl: [3, string] })
const resourceSpans = message({
  resource: [1, resource],
  scopeSpans: [2, repeated(scopeSpans)],
  schemaUrl: [3, string],
})
/** The OTLP message ExportTraceServiceRequest. */
export const traceRequest = message({ resourceSpans: [1, repeated(resourceSpans)] })

const scopeLogs = message({ scope: [1, scope], logRecords: [2, repeated(logRecord)], schemaUrl: [3, string] })
const resourceLogs = message({ resource: [1, resource], scopeLogs: [2, repeated(scopeLogs)], schemaUrl: [3, string] })
/** The OTLP message ExportLogsServiceRequest. */
export const logsRequest = message({ resourceLogs: [1, repeated(resourceLogs)] })

const scopeMetrics = message({ scope: [1, scope], metrics: [2, repeated(metric)], schemaUrl: [3, string] })
const resourceMetrics = message({
  resource: [1, resource],
  scopeMetrics: [2, repeated(scopeMetrics)],
  schemaUrl: [3, string],
})
/** The OTLP message ExportMetricsServiceRequest. */
export const metricsRequest = message({ resourceMetrics: [1, repeated(resourceMetrics)] })

export type Resource = ValueOf<typeof resource>
export type Scope = ValueOf<typeof scope>
export type Span = ValueOf<typeof span>
export type SpanStatus = ValueOf<typeof status>
export type Link = ValueOf<typeof link>
export type LogRecord = ValueOf<typeof logRecord>
export type Exemplar = ValueOf<typeof exemplar>
export type NumberPoint = ValueOf<typeof numberPoint>
export type HistogramPoint = ValueOf<typeof histogramPoint>
export type Metric = ValueOf<typeof metric>
export type ResourceSpans = ValueOf<typeof resourceSpans>
export type ResourceLogs = ValueOf<typeof resourceLogs>
export type ResourceMetrics = ValueOf<typeof resourceMetrics>

/** OTLP's span kinds are one higher than the API's, because OTLP starts with "unspecified", which the API lacks. */
export const spanKinds = { pipeline: SpanKind.SERVER + 1, job: SpanKind.INTERNAL + 1 } as const

/** The values of OTLP's StatusCode. */
export const statusCodes = { unset: 0, ok: 1, error: 2 } as const

/** The OTLP flags for a span with this parent, or for a link to this span context: sampled (0x01), remoteness known (0x100), remote (0x200). */
export function flagsOf(other: SpanContext | undefined): number {
  return TraceFlags.SAMPLED | 0x100 | (other?.isRemote === true ? 0x200 : 0)
}
