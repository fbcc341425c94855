// One attribute in protobuf: KeyValue and AnyValue of opentelemetry-proto, common.proto.
import { BackWriter } from '../back-writer.ts'

const varint = 0
const fixed64 = 1
const delimited = 2
const tag = (field: number, wire: number): number => (field << 3) | wire

/** KeyValue (1 key, 2 value) as a field of this number. A whole number is an integer unless it `isDouble`. */
export function writeKeyValue(writer: BackWriter, field: number, key: string, value: unknown, isDouble: boolean): void {
  const before = writer.written
  anyValue(writer, value, isDouble)
  writer.varint(writer.written - before)
  writer.byte(tag(2, delimited))
  writer.bytes(keyField(key))
  writer.varint(writer.written - before)
  writer.varint(tag(field, delimited))
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

/** Names recur in every span: the field of each is encoded once. Users' own names are few; a limit guards all the same. */
const keyFields = new Map<string, Uint8Array>()
const mostKeys = 4_096

function keyField(key: string): Uint8Array {
  const known = keyFields.get(key)
  if (known !== undefined) return known
  const one = new BackWriter(key.length * 3 + 8)
  one.string(key)
  one.byte(tag(1, delimited))
  const bytes = one.take()
  if (keyFields.size < mostKeys) keyFields.set(key, bytes)
  return bytes
}
