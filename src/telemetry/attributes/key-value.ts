// Attributes in protobuf: KeyValue and AnyValue of opentelemetry-proto, common.proto.
import { BackWriter } from '../otlp/back-writer.ts'

const varint = 0
const fixed64 = 1
const delimited = 2
const tag = (field: number, wire: number): number => (field << 3) | wire

const stringTag = tag(1, delimited)
const intTag = tag(3, varint)

/** The last length that takes one byte. */
const oneByte = 0x7f

/** What becomes of numbers: integers where they are whole, doubles always, or nanoseconds of what is given as microseconds. */
export type Numbers = 'int' | 'double' | 'nanoseconds'

/**
 * A name made ready for its values: KeyValue (1 key, 2 value) as a field of this number, below 16. Most are so short that
 * each of their lengths takes one byte: then all that stands before the value is copied at once, and the lengths put in.
 */
export class AttributeName {
  readonly #tag: number
  readonly #numbers: Numbers
  /** The key, and the tag of the value that follows. */
  readonly #key: Uint8Array
  /** All that stands before a string, before an integer; zero where a length belongs. */
  readonly #beforeString: Uint8Array
  readonly #beforeInt: Uint8Array
  /** The longest value for which that is true, bytes; negative for names too long themselves. */
  readonly #longest: number

  constructor(name: string, field: number, numbers: Numbers) {
    this.#tag = tag(field, delimited)
    this.#numbers = numbers
    const writer = new BackWriter(name.length * 3 + 8)
    writer.byte(tag(2, delimited))
    writer.string(name)
    writer.byte(tag(1, delimited))
    this.#key = writer.take()
    this.#beforeString = Uint8Array.of(this.#tag, 0, ...this.#key, 0, stringTag, 0)
    this.#beforeInt = Uint8Array.of(this.#tag, 0, ...this.#key, 0, intTag)
    this.#longest = oneByte + 2 - this.#beforeString.length
  }

  write(writer: BackWriter, value: unknown): void {
    const before = writer.written
    if (typeof value === 'string') {
      const size = writer.text(value)
      if (size <= this.#longest) {
        const head = this.#beforeString
        writer.bytes(head)
        writer.put(1, head.length - 2 + size)
        writer.put(head.length - 3, size + 2)
        writer.put(head.length - 1, size)
        return
      }
      writer.varint(size)
      writer.byte(stringTag)
    } else if (typeof value === 'number' && this.#numbers !== 'double' && isInt64(value)) {
      if (this.#numbers === 'int') writer.int64(value)
      else writer.nanoseconds(value)
      const size = writer.written - before
      if (size <= this.#longest) {
        const head = this.#beforeInt
        writer.bytes(head)
        writer.put(1, head.length - 2 + size)
        writer.put(head.length - 2, size + 1)
        return
      }
      writer.byte(intTag)
    } else {
      anyValue(writer, value, this.#numbers === 'double')
    }
    writer.varint(writer.written - before)
    writer.bytes(this.#key)
    writer.varint(writer.written - before)
    writer.byte(this.#tag)
  }
}

/** AnyValue: 1 string, 2 bool, 3 int, 4 double, 5 array. */
function anyValue(writer: BackWriter, value: unknown, isDouble: boolean): void {
  switch (typeof value) {
    case 'string':
      writer.string(value)
      writer.byte(stringTag)
      return
    case 'boolean':
      writer.byte(value ? 1 : 0)
      writer.byte(tag(2, varint))
      return
    case 'number':
      if (isDouble || !isInt64(value)) {
        writer.double(value)
        writer.byte(tag(4, fixed64))
      } else {
        writer.int64(value)
        writer.byte(intTag)
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

function isInt64(value: number): boolean {
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
}
