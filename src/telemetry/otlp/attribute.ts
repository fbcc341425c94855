// Attributes as OTLP has them: values, and the names that carry them.
import { anyValue, headOf, writeAttribute, type Kind } from './kinds.ts'
import { Double, type AttributeValue, type KeyValue } from './attribute-value.ts'
import type { Attributes } from '@opentelemetry/api'
import type { BackWriter } from './back-writer.ts'

/** A value under its names: `job.name` and `cicd.pipeline.task.name` are one attribute here, and two where it is written. */
export interface Attribute {
  readonly names: AttributeNames
  readonly value: AttributeValue
}

/** What a value becomes under one name; undefined where it is left out. */
export type Conversion = (value: AttributeValue) => AttributeValue | undefined

/** Values remembered of one attribute, and the longest of them in UTF-16 units: a hundred kilobytes at most. */
const most = 256
const longest = 128

interface Name {
  readonly key: string
  /** What stands in a KeyValue before the length of the value: field 1 with the key, and the tag of field 2. */
  readonly head: Uint8Array
  readonly convert: Conversion
}

/** The names that carry a value, and what it becomes under each. */
export class AttributeNames {
  readonly #names: readonly Name[]
  /** What was written for a value, by the number of the field. Whoever asks with another value gets nothing. */
  readonly #written: Map<AttributeValue, Uint8Array>[] | undefined

  /** `recurs`: most of its values are written again and again, so what is written for them is remembered. */
  constructor(names: readonly (readonly [key: string, convert: Conversion])[], recurs = false) {
    this.#names = names.map(([key, convert]) => ({ key, head: headOf(key), convert }))
    this.#written = recurs ? [] : undefined
  }

  keyValues(value: AttributeValue): KeyValue[] {
    return this.#names.flatMap(({ key, convert }) => {
      const converted = convert(value)
      return converted === undefined ? [] : [{ key, value: converted }]
    })
  }

  /** As fields of this number. */
  write(writer: BackWriter, field: number, value: AttributeValue): void {
    if (this.#written === undefined) {
      this.#writeAnew(writer, field, value)
      return
    }
    const written = (this.#written[field] ??= new Map<AttributeValue, Uint8Array>())
    // Lists are known by what is in them.
    const by = typeof value === 'object' ? JSON.stringify(value) : value
    const known = written.get(by)
    if (known !== undefined) {
      writer.bytes(known)
      return
    }
    const before = writer.written
    this.#writeAnew(writer, field, value)
    if (typeof by === 'string' && by.length > longest) return
    if (written.size >= most) written.clear()
    written.set(by, writer.since(before))
  }

  #writeAnew(writer: BackWriter, field: number, value: AttributeValue): void {
    for (let n = this.#names.length - 1; n >= 0; n -= 1) {
      const name = this.#names[n]
      const converted = name?.convert(value)
      if (name !== undefined && converted !== undefined) writeAttribute(writer, field, name.head, converted)
    }
  }
}

/** Attributes of an object whose values are what is to be written. */
export function attributesFrom(object: Readonly<Record<string, AttributeValue>>): Attribute[] {
  return Object.entries(object).map(([key, value]) => ({ names: new AttributeNames([[key, same]]), value }))
}

export function keyValuesOf(attributes: readonly Attribute[]): KeyValue[] {
  return attributes.flatMap(({ names, value }) => names.keyValues(value))
}

export const attributes: Kind<readonly Attribute[]> = {
  write(writer, field, values) {
    for (let n = values.length - 1; n >= 0; n -= 1) {
      const one = values[n]
      one?.names.write(writer, field, one.value)
    }
  },
  json: values => keyValuesOf(values).map(({ key, value }) => ({ key, value: anyValue.json(value) })),
}

/** The attributes as an object with plain numbers, for those who show or compare them. */
export function plainAttributes(attributes: readonly Attribute[]): Attributes {
  return Object.fromEntries(keyValuesOf(attributes).map(({ key, value }) => [key, plain(value)]))
}

function plain(value: AttributeValue): Attributes[string] {
  if (value instanceof Double) return value.value
  if (typeof value === 'object') return [...value] as string[]
  return typeof value === 'bigint' ? Number(value) : value
}

function same(value: AttributeValue): AttributeValue {
  return value
}
