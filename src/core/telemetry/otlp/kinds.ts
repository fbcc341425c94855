// Declares the field kinds of OTLP messages, and how each is written as protobuf and as JSON (protobuf.dev/programming-guides/encoding and /json).
// Protobuf is read back only to show it to people and to merge the data points of several messages.
import { DataError } from '../../../lib/fault.ts'
import { Double, type AttributeValue } from './attribute-value.ts'
import { BackWriter } from './back-writer.ts'
import { ByteReader } from './byte-reader.ts'
import type { Millis } from '../../../model/instant.ts'

/** Writes and reads the values of one kind of field. */
export interface Kind<V> {
  /** The protobuf wire type in the tags of fields of this kind. */
  readonly wire: number
  /** Writes the value and then its tag, because the writer works from the end to the beginning. */
  readonly write: (writer: BackWriter, tag: number, value: V) => void
  readonly json: (value: V) => unknown
  /** Reads the value that follows a tag. `before`: the value read from earlier occurrences of the same field. */
  readonly read: (reader: ByteReader, before?: unknown) => unknown
  /** The value to use if the message lacks the field; undefined if the field is optional. */
  readonly absent?: unknown
}

/** The kind of a field whose value is a message. `content` writes only the message's fields, without tag and length prefix. */
export interface MessageKind<T> extends Kind<T> {
  readonly content: (writer: BackWriter, message: T) => void
  readonly contentOf: (bytes: Uint8Array) => T
}

export type ValueOf<K> = K extends Kind<infer V> ? V : never

/** The fields of a message, in the order in which they are encoded. */
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

/** The protobuf tag of a field: its number and its wire type. */
function tagOf(field: number, wire: number): number {
  return (field << 3) | wire
}

function kind<V>(
  wire: number,
  write: Kind<V>['write'],
  read: (reader: ByteReader) => V,
  absent?: V,
  json: Kind<V>['json'] = value => value,
): Kind<V> {
  return { wire, write, json, read, absent }
}

export const string = kind<string>(
  delimited,
  (writer, tag, value) => writer.string(value).varint(tag),
  reader => reader.delimited().toString(),
  '',
)
/** Bytes that are given as hex, and stay hex in OTLP/JSON. */
export const hex = kind<string>(
  delimited,
  (writer, tag, value) => writer.hex(value).varint(tag),
  reader => reader.delimited().toString('hex'),
)
/** An unsigned 32-bit integer or an enum. Zero is written too, as the official serializers do. */
export const uint32 = kind<number>(
  varint,
  (writer, tag, value) => writer.varint(value).varint(tag),
  reader => Number(reader.varint()),
  0,
)
export const flags = kind<number>(
  fixed32,
  (writer, tag, value) => writer.fixed32(value).varint(tag),
  reader => reader.fixed32(),
)
/** A safe integer, for counts and metric values. */
export const count = kind<number>(
  fixed64,
  (writer, tag, value) => writer.fixed64(value).varint(tag),
  reader => Number(reader.fixed64()),
)
export const double = kind<number>(
  fixed64,
  (writer, tag, value) => writer.double(value).varint(tag),
  reader => reader.double(),
)
/** A time in milliseconds since 1970, which is written as nanoseconds. */
export const instant = kind<Millis>(
  fixed64,
  (writer, tag, value) => writer.instant(value).varint(tag),
  reader => Number(reader.fixed64() / 1_000n) / 1_000,
  undefined,
  value => String(BigInt(Math.round(value * 1_000)) * 1_000n),
)
const truth = kind<boolean>(
  varint,
  (writer, tag, value) => writer.varint(value ? 1 : 0).varint(tag),
  reader => reader.varint() !== 0n,
  false,
)
const integer = kind<number | bigint>(
  varint,
  (writer, tag, value) => writer.int64(value).varint(tag),
  reader => {
    const value = BigInt.asIntN(64, reader.varint())
    return Number.isSafeInteger(Number(value)) ? Number(value) : value
  },
)

/**
 * A boolean that is omitted if it is false. The official serializers omit all such empty values: false, the empty string, and an enum's
 * "unspecified".
 */
export const bool = unlessEmpty(truth)
export const counts = packed(
  (writer, value) => writer.fixed64(value),
  reader => Number(reader.fixed64()),
)
export const doubles = packed(
  (writer, value) => writer.double(value),
  reader => reader.double(),
)

/** Writes an AnyValue. Its fields: 1 string, 2 bool, 3 int, 4 double, 5 array. */
function writeValue(writer: BackWriter, value: AttributeValue): void {
  if (typeof value === 'string') string.write(writer, tagOf(1, delimited), value)
  else if (typeof value === 'boolean') truth.write(writer, tagOf(2, varint), value)
  else if (value instanceof Double) double.write(writer, tagOf(4, fixed64), value.value)
  else if (typeof value === 'object') array.write(writer, tagOf(5, delimited), value)
  else if (typeof value === 'number' && !isInt64(value)) double.write(writer, tagOf(4, fixed64), value)
  else integer.write(writer, tagOf(3, varint), value)
}

function readValue(reader: ByteReader): AttributeValue {
  switch (Number(reader.varint()) >> 3) {
    case 1:
      return string.read(reader) as string
    case 2:
      return truth.read(reader) as boolean
    case 3:
      return integer.read(reader) as number | bigint
    case 4:
      return new Double(reader.double())
    default:
      return array.read(reader) as readonly string[]
  }
}

export const anyValue: Kind<AttributeValue> = embedded(writeValue, readValue, value => {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (value instanceof Double) return { doubleValue: value.value }
  if (typeof value === 'object') return { arrayValue: array.json(value) }
  if (typeof value === 'number' && !isInt64(value)) return { doubleValue: value }
  // In JSON, integers beyond the safe range are strings.
  return { intValue: Number.isSafeInteger(Number(value)) ? Number(value) : String(value) }
})

/** An ArrayValue. Its field: 1 values. */
const array: Kind<readonly AttributeValue[]> = embedded(
  (writer, values) => repeated(anyValue).write(writer, tagOf(1, delimited), values),
  reader => {
    const values: (string | number | boolean)[] = []
    while (!reader.isAtEnd) {
      reader.varint()
      values.push(anyValue.read(reader) as string)
    }
    return values
  },
  values => ({ values: values.map(anyValue.json) }),
)

/** The bytes of a KeyValue up to the length of its value: field 1 with the key, and the tag of field 2. */
export function headOf(key: string): Uint8Array {
  const writer = new BackWriter(3 * key.length + 8)
  string.write(writer.varint(tagOf(2, delimited)), tagOf(1, delimited), key)
  return writer.since(0)
}

/** Writes a KeyValue. Its fields: 1 key, 2 value. */
export function writeAttribute(writer: BackWriter, tag: number, head: Uint8Array, value: AttributeValue): void {
  const before = writer.written
  writeValue(writer, value)
  writer.varint(writer.written - before).bytes(head)
  writer.varint(writer.written - before).varint(tag)
}

/** Reads the key and the value of a KeyValue. */
export function readAttribute(reader: ByteReader): [string, AttributeValue] {
  const own = new ByteReader(reader.delimited())
  own.varint()
  const key = string.read(own) as string
  own.varint()
  return [key, anyValue.read(own) as AttributeValue]
}

export function repeated<V>({ wire, write, json, read }: Kind<V>): Kind<readonly V[]> {
  const all: Kind<readonly V[]>['write'] = (writer, tag, values) => {
    for (let n = values.length - 1; n >= 0; n -= 1) write(writer, tag, values[n] as V)
  }
  const more: Kind<readonly V[]>['read'] = (reader, before = []) => {
    ;(before as unknown[]).push(read(reader))
    return before
  }
  return { wire, write: all, json: values => values.map(json), read: more, absent: [] }
}

export function optional<V>(one: Kind<V>): Kind<V | undefined> {
  return { ...(one as Kind<V | undefined>), absent: undefined }
}

export function unlessEmpty<V>(one: Kind<V>): Kind<V> {
  return {
    ...one,
    write: (writer, tag, value) => {
      if (Boolean(value)) one.write(writer, tag, value)
    },
  }
}

/** Builds the kind of a message from the table of its fields. JSON lists the fields in the order of the object. */
export function message<const F extends Fields>(fields: F): MessageKind<MessageOf<F>> {
  const rows = Object.entries(fields as unknown as Readonly<Record<string, readonly [number, Kind<unknown>]>>)
  const table = rows.map(([name, [field, { wire, write }]]) => ({ name, tag: tagOf(field, wire), write })).reverse()
  const content = (writer: BackWriter, value: Readonly<Record<string, unknown>>): void => {
    for (const { name, tag, write } of table) {
      const own = value[name]
      if (own !== undefined) write(writer, tag, own)
    }
  }
  const kinds = new Map(rows.map(([name, [, one]]) => [name, one]))
  const json = (value: Readonly<Record<string, unknown>>): unknown =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, own]) => (own === undefined ? [] : [[name, kinds.get(name)?.json(own)]])),
    )
  const byField = new Map(rows.map(([name, [field, own]]) => [field, { name, own }]))
  const read = (reader: ByteReader): Readonly<Record<string, unknown>> => {
    const values: Record<string, unknown> = {}
    while (!reader.isAtEnd) {
      const found = byField.get(Number(reader.varint()) >> 3)
      if (found === undefined)
        throw new DataError('Stored telemetry has an unknown field.', 'Use the version that wrote it.')
      values[found.name] = found.own.read(reader, values[found.name])
    }
    // Each message gets its own list, because lists are appended to in place.
    for (const [name, [, { absent }]] of rows) values[name] ??= Array.isArray(absent) ? [] : absent
    return values
  }
  const contentOf = (bytes: Uint8Array): MessageOf<F> => read(new ByteReader(bytes)) as MessageOf<F>
  return { ...embedded(content, read, json), content, contentOf }
}

/** The kind of a length-prefixed value. */
function embedded<V>(
  content: (writer: BackWriter, value: V) => void,
  read: (reader: ByteReader) => V,
  json: Kind<V>['json'],
): Kind<V> {
  const write: Kind<V>['write'] = (writer, tag, value) => {
    const before = writer.written
    content(writer, value)
    writer.varint(writer.written - before).varint(tag)
  }
  return { wire: delimited, write, json, read: reader => read(new ByteReader(reader.delimited())) }
}

/** The kind of a packed list of numbers. An empty list is omitted. */
function packed(
  put: (writer: BackWriter, value: number) => void,
  take: (reader: ByteReader) => number,
): Kind<readonly number[]> {
  const all = embedded<readonly number[]>(
    (writer, values) => {
      for (const value of values.toReversed()) put(writer, value)
    },
    reader => {
      const values: number[] = []
      while (!reader.isAtEnd) values.push(take(reader))
      return values
    },
    values => values,
  )
  return {
    ...all,
    write: (writer, tag, values) => {
      if (values.length > 0) all.write(writer, tag, values)
    },
    absent: [],
  }
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
}
