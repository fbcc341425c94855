// The kinds of fields that OTLP's messages have, each as protobuf and as JSON (protobuf.dev/programming-guides/encoding and /json).
import { Double, type AttributeValue } from './attribute-value.ts'
import { BackWriter } from './back-writer.ts'
import type { Millis } from '../../model/instant.ts'

/** How a value is written as a field of this number: its tag last, as the writer goes from back to front. */
export interface Kind<V> {
  readonly write: (writer: BackWriter, field: number, value: V) => void
  readonly json: (value: V) => unknown
}

/** A message; `content` writes its fields alone, without a tag and a length before them. */
export interface MessageKind<T> extends Kind<T> {
  readonly content: (writer: BackWriter, message: T) => void
}

/** What a kind writes. */
export type ValueOf<K> = K extends Kind<infer V> ? V : never

/** In the order in which they are written. */
type Fields = Readonly<Record<string, readonly [field: number, kind: Kind<never>]>>
type FieldOf<F> = F extends readonly [number, infer K] ? ValueOf<K> : never
type IfOptional<V, Yes, No> = undefined extends V ? Yes : No
type MessageOf<F extends Fields> = {
  readonly [Name in keyof F as IfOptional<FieldOf<F[Name]>, never, Name>]: FieldOf<F[Name]>
} & { readonly [Name in keyof F as IfOptional<FieldOf<F[Name]>, Name, never>]?: FieldOf<F[Name]> }

const varint = 0
const fixed64 = 1
const delimited = 2
const fixed32 = 5

export const string: Kind<string> = {
  write(writer, field, value) {
    writer.string(value)
    writer.tag(field, delimited)
  },
  json: same,
}

/** Bytes that are given as hex, and that OTLP/JSON writes as hex. */
export const hex: Kind<string> = {
  write(writer, field, value) {
    writer.hex(value)
    writer.tag(field, delimited)
  },
  json: same,
}

/** Also for enumerations. Zero is written, as the official serializers do. */
export const uint32: Kind<number> = {
  write(writer, field, value) {
    writer.varint(value)
    writer.tag(field, varint)
  },
  json: same,
}

/** False is left out, as the official serializers do. */
export const bool: Kind<boolean> = {
  write(writer, field, value) {
    if (!value) return
    writer.varint(1)
    writer.tag(field, varint)
  },
  json: same,
}

export const flags: Kind<number> = {
  write(writer, field, value) {
    writer.fixed32(value)
    writer.tag(field, fixed32)
  },
  json: same,
}

/** A whole number that a double holds exactly: counts, and values of metrics. */
export const count: Kind<number> = {
  write(writer, field, value) {
    writer.fixed64(value)
    writer.tag(field, fixed64)
  },
  json: same,
}

export const double: Kind<number> = {
  write(writer, field, value) {
    writer.double(value)
    writer.tag(field, fixed64)
  },
  json: same,
}

/** Milliseconds since 1970, written as nanoseconds. */
export const instant: Kind<Millis> = {
  write(writer, field, value) {
    writer.instant(value)
    writer.tag(field, fixed64)
  },
  json: value => String(BigInt(value) * 1_000_000n),
}

export const counts: Kind<readonly number[]> = packed((writer, value) => writer.fixed64(value))
export const doubles: Kind<readonly number[]> = packed((writer, value) => writer.double(value))

/** AnyValue: 1 string, 2 bool, 3 int, 4 double, 5 array. */
function writeValue(writer: BackWriter, value: AttributeValue): void {
  if (typeof value === 'string') string.write(writer, 1, value)
  else if (typeof value === 'boolean') {
    writer.varint(value ? 1 : 0)
    writer.tag(2, varint)
  } else if (typeof value === 'bigint') {
    writer.bigint(value)
    writer.tag(3, varint)
  } else if (typeof value === 'number') {
    if (!isInt64(value)) double.write(writer, 4, value)
    else {
      writer.int64(value)
      writer.tag(3, varint)
    }
  } else if (value instanceof Double) double.write(writer, 4, value.value)
  else array.write(writer, 5, value)
}

export const anyValue: Kind<AttributeValue> = embedded(writeValue, value => {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (value instanceof Double) return { doubleValue: value.value }
  if (typeof value === 'object') return { arrayValue: array.json(value) }
  if (typeof value === 'number' && !isInt64(value)) return { doubleValue: value }
  // As text where a reader's number would not hold it.
  return { intValue: Number.isSafeInteger(Number(value)) ? Number(value) : String(value) }
})

/** ArrayValue: 1 values. */
const array: Kind<readonly AttributeValue[]> = embedded(
  (writer, values) => repeated(anyValue).write(writer, 1, values),
  values => ({ values: values.map(anyValue.json) }),
)

/** All that stands before the value's length in a KeyValue: field 1 with the key, and the tag of field 2. */
export function headOf(key: string): Uint8Array {
  const writer = new BackWriter(3 * key.length + 8)
  writer.tag(2, delimited)
  string.write(writer, 1, key)
  return writer.take()
}

/** KeyValue: 1 key, 2 value. */
export function writeAttribute(writer: BackWriter, field: number, head: Uint8Array, value: AttributeValue): void {
  if (typeof value === 'string' && writer.shortAttribute(field, head, value)) return
  const before = writer.written
  writeValue(writer, value)
  writer.varint(writer.written - before)
  writer.bytes(head)
  writer.varint(writer.written - before)
  writer.tag(field, delimited)
}

export function repeated<V>(kind: Kind<V>): Kind<readonly V[]> {
  return {
    write(writer, field, values) {
      for (let n = values.length - 1; n >= 0; n -= 1) kind.write(writer, field, values[n] as V)
    },
    json: values => values.map(kind.json),
  }
}

/** A field that may be missing: then it is not written. */
export function optional<V>(kind: Kind<V>): Kind<V | undefined> {
  return {
    write: (writer, field, value) => {
      if (value !== undefined) kind.write(writer, field, value)
    },
    json: value => (value === undefined ? undefined : kind.json(value)),
  }
}

/** A message by the table of its fields. JSON has them in the order of the object. */
export function message<const F extends Fields>(fields: F): MessageKind<MessageOf<F>> {
  const rows = Object.entries(fields as unknown as Readonly<Record<string, readonly [number, Kind<unknown>]>>)
  const table = rows.map(([name, [field, kind]]) => ({ name, field, kind }))
  const content = (writer: BackWriter, value: Readonly<Record<string, unknown>>): void => {
    for (let n = table.length - 1; n >= 0; n -= 1) {
      const row = table[n]
      const own = row && value[row.name]
      if (row !== undefined && own !== undefined) row.kind.write(writer, row.field, own)
    }
  }
  const kinds = new Map(table.map(({ name, kind }) => [name, kind]))
  const json = (value: Readonly<Record<string, unknown>>): unknown =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, own]) => (own === undefined ? [] : [[name, kinds.get(name)?.json(own)]])),
    )
  return { ...embedded(content, json), content }
}

/** What stands with its length before it. */
function embedded<V>(content: (writer: BackWriter, value: V) => void, json: (value: V) => unknown): Kind<V> {
  return {
    write(writer, field, value) {
      const before = writer.written
      content(writer, value)
      writer.varint(writer.written - before)
      writer.tag(field, delimited)
    },
    json,
  }
}

function packed(write: (writer: BackWriter, value: number) => void): Kind<readonly number[]> {
  const all = embedded<readonly number[]>((writer, values) => {
    for (const value of values.toReversed()) write(writer, value)
  }, same)
  return {
    write(writer, field, values) {
      if (values.length > 0) all.write(writer, field, values)
    },
    json: same,
  }
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
}

function same<V>(value: V): V {
  return value
}
