// Metrics as bytes: OTLP requests made by the official serializer, many pipelines or projects in one.
import { JsonMetricsSerializer, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer'
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics'
import type { Chunk } from '../../model/chunk.ts'
import type { TelemetrySettings } from '../settings.ts'
import { toDelta } from './delta.ts'
import type { SeriesCap } from './series-cap.ts'

/**
 * Delta points as one ExportMetricsServiceRequest in protobuf, with one ResourceMetrics for each part that carries any;
 * empty when none does.
 */
export function encodeMetrics(parts: readonly Chunk[], settings: TelemetrySettings, cap?: SeriesCap): Uint8Array {
  return encodeResourceMetrics(parts.flatMap(part => toDelta(part, settings, cap) ?? []))
}

/** One request. The serializer takes one resource at a time; repeated fields of protobuf join by joining their bytes. */
export function encodeResourceMetrics(all: readonly ResourceMetrics[]): Uint8Array {
  return Buffer.concat(all.map(one => ProtobufMetricsSerializer.serializeRequest(one) ?? new Uint8Array()))
}

/** The same request as OTLP/JSON, indented for people. */
export function metricsAsJson(all: readonly ResourceMetrics[]): string {
  const decoder = new TextDecoder()
  const requests = all.map(
    one => JSON.parse(decoder.decode(JsonMetricsSerializer.serializeRequest(one))) as JsonRequest,
  )
  return JSON.stringify({ resourceMetrics: requests.flatMap(({ resourceMetrics }) => resourceMetrics) }, null, 2)
}

interface JsonRequest {
  readonly resourceMetrics: readonly unknown[]
}
