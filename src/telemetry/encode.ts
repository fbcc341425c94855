// Traces as bytes: OTLP requests made by the official serializers, many pipelines in one.
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { FrozenPart } from '../model/frozen.ts'
import type { TelemetrySettings } from './settings.ts'
import { toTraces } from './traces.ts'
import { settleBytes, settleJson, withNeighbours } from './whole-doubles.ts'

/**
 * One ExportTraceServiceRequest in protobuf, with one ResourceSpans for each part. The bytes of many parts are those of each,
 * one after the other.
 */
export function encodeTraces(parts: readonly FrozenPart[], settings: TelemetrySettings): Uint8Array {
  return settleBytes(ProtobufTraceSerializer.serializeRequest(spansOf(parts, settings)) ?? new Uint8Array())
}

/** The same request as OTLP/JSON, indented for people. */
export function tracesAsJson(parts: readonly FrozenPart[], settings: TelemetrySettings): string {
  const bytes = JsonTraceSerializer.serializeRequest(spansOf(parts, settings))
  return JSON.stringify(JSON.parse(new TextDecoder().decode(bytes), settleJson), null, 2)
}

function spansOf(parts: readonly FrozenPart[], settings: TelemetrySettings): ReadableSpan[] {
  return parts.flatMap(part => toTraces(part, settings).map(withWholeDoubles))
}

function withWholeDoubles(span: ReadableSpan): ReadableSpan {
  const attributes = withNeighbours(span.attributes)
  return attributes === span.attributes ? span : { ...span, attributes }
}
