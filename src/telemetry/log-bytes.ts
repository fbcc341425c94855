// ExportLogsServiceRequest in protobuf, byte for byte what the official serializer makes of the same records, but for whole numbers
// that no double holds, which that cannot write. Field numbers: opentelemetry-proto, logs.proto.
import {
  count,
  delimited,
  field,
  fixed32,
  fixed64,
  id,
  resourceField,
  scopeField,
  scopeSchema,
  tag,
  text,
  writer,
} from './otlp-message.ts'
import { schemaUrl } from './mapping/semconv.ts'
import type { LogSketch, LogsSketch } from './logs.ts'

/** What has no records is left out. */
export function logBytes(sketches: readonly LogsSketch[]): Uint8Array {
  // An earlier message that could not be written to its end has left its own.
  writer.clear()
  for (let n = sketches.length - 1; n >= 0; n -= 1) {
    const logs = sketches[n]
    if (logs !== undefined && logs.records.length > 0) field(1, () => resourceLogs(logs))
  }
  return writer.take()
}

/** ResourceLogs: 1 resource, 2 scope_logs, 3 schema_url. */
function resourceLogs({ resource, records }: LogsSketch): void {
  text(3, schemaUrl)
  field(2, () => scopeLogs(records))
  resourceField(resource)
}

/** ScopeLogs: 1 scope, 2 log_records, 3 schema_url. */
function scopeLogs(records: readonly LogSketch[]): void {
  scopeSchema()
  for (let n = records.length - 1; n >= 0; n -= 1) {
    const one = records[n]
    if (one !== undefined) field(2, () => record(one))
  }
  scopeField()
}

/**
 * LogRecord: 1 time, 2 severity_number, 3 severity_text, 5 body, 6 attributes, 7 dropped_attributes_count, 8 flags, 9 trace_id,
 * 10 span_id, 11 observed_time.
 */
function record({ at, severity, body, context, attributes }: LogSketch): void {
  instant(11, at)
  id(10, context.spanId)
  id(9, context.traceId)
  writer.fixed32(context.traceFlags)
  writer.byte(tag(8, fixed32))
  count(7, 0)
  for (let n = attributes.length - 1; n >= 0; n -= 1) attributes[n]?.write(writer)
  // AnyValue: 1 string.
  const before = writer.written
  text(1, body)
  writer.varint(writer.written - before)
  writer.byte(tag(5, delimited))
  text(3, severity.text)
  count(2, severity.number)
  // What is sent again must be the same, so the time it was observed cannot be that of the sending.
  instant(1, at)
}

function instant(number: number, at: number): void {
  writer.instant(at)
  writer.byte(tag(number, fixed64))
}
