// One attribute in protobuf: KeyValue and AnyValue of opentelemetry-proto, common.proto.
import { BackWriter } from '../back-writer.ts'

const varint = 0
const fixed64 = 1
const delimited = 2
const tag = (field: number, wire: number): number => (field << 3) | wire

/**
 * KeyValue (1 key, 2 value) as a field of this number, its key as `keyBytes` makes it. A whole number is an integer unless it
 * `isDouble`.
 */
export function writeKeyValue(
  writer: BackWriter,
  field: number,
  key: Uint8Array,
  value: unknown,
  isDouble: boolean,
): void {
  const before = writer.written
  anyValue(writer, value, isDouble)
  writer.varint(writer.written - before)
  writer.bytes(key)
  writer.varint(writer.written - before)
  writer.varint(tag(field, delimited))
}

/** A name as it stands in a KeyValue, with the tag of the value that follows. */
export function keyBytes(key: string): Uint8Array {
  const writer = new BackWriter(key.length * 3 + 8)
  writer.byte(tag(2, delimited))
  writer.string(key)
  writer.byte(tag(1, delimited))
  return writer.take()
}

/** AnyValue: 1 string, 2 bool, 3 int, 4 double, 5 array. */
function anyValue(writer: BackWriter, value: unknown, isDouble: boolean): void {
  switch (typeof value) {
    case 'string':
      writer.string(value)
      writer.byte(tag(1, delimited))
      return
    case 'boolean':
      writer.byte(value ? 1 : 0)
      writer.byte(tag(2, varint))
      return
    case 'number':
      if (isDouble || !Number.isInteger(value) || value < -(2 ** 63) || value >= 2 ** 63) {
        writer.double(value)
        writer.byte(tag(4, fixed64))
      } else {
        writer.int64(value)
        writer.byte(tag(3, varint))
      }
      return
    default:
      if (Array.isArray(value)) arrayValue(writer, value, isDouble)
  }
}

/** ArrayValue: 1 values. */
function arrayValue(writer: BackWriter, items: readonly unknown[], isDouble: boolean): void {
  const before = writer.written
  for (let n = items.length - 1; n >= 0; n -= 1) {
    const beforeItem = writer.written
    anyValue(writer, items[n], isDouble)
    writer.varint(writer.written - beforeItem)
    writer.byte(tag(1, delimited))
  }
  writer.varint(writer.written - before)
  writer.byte(tag(5, delimited))
}
