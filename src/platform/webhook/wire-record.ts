// Readers of JSON objects, made from tables: which field is which fact, and how its value is read.
import { readObject, type Read, type WireObject } from '../wire-read.ts'

/** One row for each fact: the name of the wire field, and the reader of its value. */
export type Fields<T> = { readonly [K in keyof T]?: readonly [field: string, read: Read<NonNullable<T[K]>>] }

/** The facts that an object has. All required facts of `T` must be in the table. */
export function fieldsOf<T extends object>(fields: Fields<T>): (from: WireObject) => Partial<T> {
  const rows = (Object.entries(fields) as [keyof T, readonly [string, Read<T[keyof T]>]][]).map(
    ([name, [field, read]]) => ({ name, field, read }),
  )
  return from => {
    const facts: Partial<T> = {}
    for (const { name, field, read } of rows) {
      const given = from[field]
      if (given === undefined) continue
      const value = read(given)
      if (value !== undefined) facts[name] = value
    }
    return facts
  }
}

/** Reads an object; undefined if one of the `needed` facts is missing. */
export function record<T extends object>(needed: readonly (keyof T)[], fields: Fields<T>): Read<T> {
  const read = fieldsOf(fields)
  return value => {
    const from = readObject(value)
    if (from === undefined) return undefined
    const facts = read(from)
    return needed.every(name => facts[name] !== undefined) ? (facts as T) : undefined
  }
}

/** Reads an object; undefined if it has none of the facts. */
export function anyOf<T extends object>(fields: Fields<T>): Read<T> {
  const read = record<T>([], fields)
  return value => {
    const facts = read(value)
    for (const _ in facts) return facts
    return undefined
  }
}
