// What requests of traces and of logs have in common in protobuf. Field numbers: opentelemetry-proto, common.proto, resource.proto.
import { BackWriter } from './otlp/back-writer.ts'
import { scope } from './otlp/scope.ts'
import type { AttributeSource } from './attributes/told.ts'

export const varint = 0
export const fixed64 = 1
export const delimited = 2
export const fixed32 = 5
export const tag = (field: number, wire: number): number => (field << 3) | wire

/** One writer for all, as encoding is synchronous. Its buffers hold some pipelines each. */
export const writer = new BackWriter(256 * 1024)

/** A length-delimited field whose content `write` puts down. */
export function field(number: number, write: () => void): void {
  const before = writer.written
  write()
  writer.varint(writer.written - before)
  writer.varint(tag(number, delimited))
}

export function text(number: number, value: string): void {
  writer.string(value)
  writer.varint(tag(number, delimited))
}

export function count(number: number, value: number): void {
  writer.varint(value)
  writer.varint(tag(number, varint))
}

/** Given as hex. */
export function id(number: number, hex: string): void {
  writer.hex(hex)
  writer.varint(tag(number, delimited))
}

/** As field 1. Resource: 1 attributes, 2 dropped_attributes_count. */
export function resourceField(resource: AttributeSource): void {
  field(1, () => {
    count(2, 0)
    resource.write(writer)
  })
}

/** Of ScopeSpans and ScopeLogs alike, as field 3. */
export function scopeSchema(): void {
  if (scope.schemaUrl !== undefined && scope.schemaUrl !== '') text(3, scope.schemaUrl)
}

/** Of both, as field 1. InstrumentationScope: 1 name, 2 version. */
export function scopeField(): void {
  field(1, () => {
    if (scope.version !== undefined && scope.version !== '') text(2, scope.version)
    text(1, scope.name)
  })
}
