// Encodes OTLP requests that contain many pipelines: as protobuf for backends, and as JSON for people.
import { BackWriter } from './otlp/back-writer.ts'
import { logsRequest, metricsRequest, traceRequest, type ResourceLogs, type ResourceMetrics } from './otlp/messages.ts'
import { joinedMetrics } from './metrics/joined-metrics.ts'
import { toDelta, type SeriesCap } from './metrics/delta.ts'
import { toEventLogs } from './events.ts'
import { toLogs } from './logs.ts'
import { toTraces } from './traces.ts'
import { isEvent, type AnyChunk } from '../../model/event.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { MessageKind } from './otlp/kinds.ts'
import type { TelemetrySettings } from './settings.ts'

/**
 * Encodes an ExportTraceServiceRequest in protobuf, with one ResourceSpans per chunk. A request for several chunks is the concatenation of the
 * requests for each chunk; this also applies to logs.
 */
export function encodeTraces(chunks: readonly AnyChunk[], settings: TelemetrySettings): Uint8Array {
  return encode(traceRequest, { resourceSpans: ofRuns(chunks).flatMap(chunk => toTraces(chunk, settings) ?? []) })
}

/** Formats a trace request as OTLP/JSON, indented for reading. */
export function tracesAsJson(chunks: readonly Chunk[], settings: TelemetrySettings): string {
  return asJson(traceRequest, { resourceSpans: chunks.flatMap(chunk => toTraces(chunk, settings) ?? []) })
}

/** Encodes an ExportLogsServiceRequest in protobuf, with one ResourceLogs per chunk. */
export function encodeLogs(chunks: readonly AnyChunk[], settings: TelemetrySettings): Uint8Array {
  return encode(logsRequest, { resourceLogs: chunks.flatMap(chunk => logsOf(chunk, settings) ?? []) })
}

/** Formats a log request as OTLP/JSON, indented for reading. */
export function logsAsJson(chunks: readonly AnyChunk[], settings: TelemetrySettings): string {
  return asJson(logsRequest, { resourceLogs: chunks.flatMap(chunk => logsOf(chunk, settings) ?? []) })
}

/** Encodes delta points as an ExportMetricsServiceRequest in protobuf, with one ResourceMetrics per chunk that has metrics. */
export function encodeMetrics(chunks: readonly AnyChunk[], settings: TelemetrySettings, cap?: SeriesCap): Uint8Array {
  return encodeResourceMetrics(chunks.flatMap(chunk => toDelta(chunk, settings, cap) ?? []))
}

/** Joins metric requests into one, and merges points of the same series and time. */
export function joinMetrics(requests: readonly Uint8Array[]): Uint8Array {
  const all = requests.flatMap(bytes => metricsRequest.contentOf(bytes).resourceMetrics)
  return encodeResourceMetrics(joinedMetrics(all))
}

export function encodeResourceMetrics(resourceMetrics: readonly ResourceMetrics[]): Uint8Array {
  return encode(metricsRequest, { resourceMetrics })
}

/** Formats a metric request as OTLP/JSON, indented for reading. */
export function metricsAsJson(resourceMetrics: readonly ResourceMetrics[]): string {
  return asJson(metricsRequest, { resourceMetrics })
}

/** Returns only the chunks of runs, because events have no spans. */
function ofRuns(chunks: readonly AnyChunk[]): Chunk[] {
  return chunks.filter(chunk => !isEvent(chunk))
}

function logsOf(chunk: AnyChunk, settings: TelemetrySettings): ResourceLogs | undefined {
  return isEvent(chunk) ? toEventLogs(chunk, settings) : toLogs(chunk, settings)
}

/** All requests share one writer, because encoding is synchronous. */
const writer = new BackWriter(64 * 1024)

/** Encodes a request as protobuf. */
export function encode<T>(kind: MessageKind<T>, request: T): Uint8Array {
  try {
    kind.content(writer, request)
    return writer.since(0)
  } finally {
    writer.clear()
  }
}

/** Converts a protobuf request to OTLP/JSON, indented for reading. */
export function requestAsJson(signal: 'traces' | 'logs' | 'metrics', bytes: Uint8Array): string {
  switch (signal) {
    case 'traces':
      return asJson(traceRequest, traceRequest.contentOf(bytes))
    case 'logs':
      return asJson(logsRequest, logsRequest.contentOf(bytes))
    case 'metrics':
      return asJson(metricsRequest, metricsRequest.contentOf(bytes))
  }
}

function asJson<T>(kind: MessageKind<T>, request: T): string {
  return JSON.stringify(kind.json(request), null, 2)
}
