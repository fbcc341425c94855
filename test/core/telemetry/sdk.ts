// Converts our messages to OpenTelemetry SDK objects, which the official serializers accept.
import { ValueType } from '@opentelemetry/api'
import { millisToHrTime } from '@opentelemetry/core'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics'
import { plainAttributes } from '../../../src/core/telemetry/otlp/attribute.ts'
import { schemaUrl } from '../../../src/core/telemetry/mapping/semconv.ts'
import { scope, signalResourceOf } from '../../../src/core/telemetry/resource.ts'
import { toRecords } from '../../../src/core/telemetry/logs.ts'
import { toSpans } from '../../../src/core/telemetry/traces.ts'
import type { Chunk } from '../../../src/model/chunk.ts'
import type { LogRecord, ResourceMetrics, Span } from '../../../src/core/telemetry/otlp/messages.ts'
import type { InstrumentationScope } from '@opentelemetry/core'
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Resource } from '@opentelemetry/resources'
import type { ResourceMetrics as SdkMetrics } from '@opentelemetry/sdk-metrics'
import type { TelemetrySettings } from '../../../src/core/telemetry/settings.ts'

/** All messages share this object, because the serializers group messages by object identity. */
const instrumentationScope = { ...scope, schemaUrl }

/** Returns the spans of a chunk, which share one Resource object. */
export function readableSpans(chunk: Chunk, settings: TelemetrySettings): ReadableSpan[] {
  const resource = sdkResource(chunk, settings)
  return toSpans(chunk, settings).map(span => readableSpan(span, resource))
}

export function readableRecords(chunk: Chunk, settings: TelemetrySettings): ReadableLogRecord[] {
  const resource = sdkResource(chunk, settings)
  return toRecords(chunk, settings).map(record => readableRecord(record, resource))
}

export function sdkResource(chunk: Chunk, settings: TelemetrySettings): Resource {
  return resourceFromAttributes(plainAttributes(signalResourceOf(chunk, settings)), { schemaUrl })
}

export function readableSpan(span: Span, resource: Resource): ReadableSpan {
  const { traceId, spanId, parentSpanId, flags, startTimeUnixNano: start, endTimeUnixNano: end, status } = span
  const readable = {
    name: span.name,
    kind: span.kind - 1,
    spanContext: () => contextOf(traceId, spanId, 1),
    ...(parentSpanId === undefined ? {} : { parentSpanContext: contextOf(traceId, parentSpanId, flags) }),
    startTime: millisToHrTime(start),
    endTime: millisToHrTime(end),
    duration: millisToHrTime(end - start),
    status: { code: status.code, ...(status.message === undefined ? {} : { message: status.message }) },
    attributes: plainAttributes(span.attributes),
    links: span.links.map(link => ({
      context: contextOf(link.traceId, link.spanId, link.flags),
      attributes: plainAttributes(link.attributes),
    })),
    resource,
    instrumentationScope,
    ended: true,
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
  // Our messages contain the protocol's numbers for fields that are enumerations in the SDK.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
  return readable
}

export function readableRecord(
  record: LogRecord,
  resource: Resource,
  own: InstrumentationScope = instrumentationScope,
): ReadableLogRecord {
  const readable = {
    hrTime: millisToHrTime(record.timeUnixNano),
    hrTimeObserved: millisToHrTime(record.observedTimeUnixNano),
    spanContext: contextOf(record.traceId ?? '', record.spanId ?? '', 0),
    severityNumber: record.severityNumber,
    severityText: record.severityText,
    body: record.body,
    ...(record.eventName === undefined ? {} : { eventName: record.eventName }),
    attributes: plainAttributes(record.attributes),
    droppedAttributesCount: 0,
    instrumentationScope: own,
    resource,
  }
  // Our messages contain the protocol's numbers for fields that are enumerations in the SDK.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
  return readable
}

/** Converts the metrics of one resource. */
export function sdkMetrics({ resource, scopeMetrics }: ResourceMetrics): SdkMetrics {
  const metrics = scopeMetrics[0]!.metrics.map(({ name, description, unit, gauge, sum, histogram }) => {
    const points = (gauge ?? sum)?.dataPoints ?? []
    const valueType = points.some(({ asInt }) => asInt !== undefined) ? ValueType.INT : ValueType.DOUBLE
    const temporality = (sum ?? histogram)?.aggregationTemporality === 2 ? 'CUMULATIVE' : 'DELTA'
    const time = (point: { readonly startTimeUnixNano: number; readonly timeUnixNano: number }) => ({
      startTime: millisToHrTime(point.startTimeUnixNano),
      endTime: millisToHrTime(point.timeUnixNano),
    })
    return {
      descriptor: { name, description, unit, valueType },
      aggregationTemporality: AggregationTemporality[temporality],
      dataPointType:
        gauge !== undefined ? DataPointType.GAUGE : sum !== undefined ? DataPointType.SUM : DataPointType.HISTOGRAM,
      isMonotonic: sum?.isMonotonic,
      dataPoints: [
        ...points.map(point => ({
          ...time(point),
          attributes: plainAttributes(point.attributes),
          value: point.asInt ?? point.asDouble,
        })),
        ...(histogram?.dataPoints ?? []).map(({ bucketCounts, explicitBounds, attributes, ...point }) => ({
          ...time(point),
          attributes: plainAttributes(attributes),
          value: { ...point, buckets: { boundaries: explicitBounds, counts: bucketCounts } },
        })),
      ],
    }
  })
  const sent = { resource: resourceFromAttributes(plainAttributes(resource.attributes), { schemaUrl }) }
  return { ...sent, scopeMetrics: [{ scope: instrumentationScope, metrics }] } as unknown as SdkMetrics
}

function contextOf(traceId: string, spanId: string, flags: number) {
  return { traceId, spanId, traceFlags: 1, ...((flags & 0x200) === 0 ? {} : { isRemote: true }) }
}
