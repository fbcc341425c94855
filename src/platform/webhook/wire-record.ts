// Objects off the wire, read by tables: which field is which fact, and how its value is read.
import { objectShape, shaped, shapeOf, type Shape } from './wire-shape.ts'
import { readObject, type Read, type WireObject } from '../wire-read.ts'

/** One row for each fact: the field's name on the wire, and the reader of its value. */
export type Fields<T> = { readonly [K in keyof T]?: readonly [field: string, read: Read<NonNullable<T[K]>>] }

/** The facts of an object by its fields: only those that are there. `T` is trusted to have no fact but those of the table required. */
export function fieldsOf<T extends object>(fields: Fields<T>): (from: WireObject) => Partial<T> {
  const rows = (Object.entries(fields) as [keyof T, readonly [string, Read<T[keyof T]>]][]).map(
    ([name, [field, read]]) => ({ name, field, read }),
  )
  const shape = objectShape(Object.fromEntries(rows.map(({ field, read }): [string, Shape] => [field, shapeOf(read)])))
  return shaped((from: WireObject) => {
    const facts: Partial<T> = {}
    for (const { name, field, read } of rows) {
      const given = from[field]
      if (given === undefined || given === null) continue
      const value = read(given)
      if (value !== undefined) facts[name] = value
    }
    return facts
  }, shape)
}

/** An object that is of no use without the facts named; those it has by the table, and all others that it has. */
export function record<T extends object>(needed: readonly (keyof T)[], fields: Fields<T>): Read<T> {
  const read = fieldsOf(fields)
  const readWhole: Read<T> = value => {
    const from = readObject(value)
    if (from === undefined) return undefined
    const facts = read(from)
    return needed.every(name => facts[name] !== undefined) ? (facts as T) : undefined
  }
  return shaped(readWhole, shapeOf(read))
}

/** An object that is of use as soon as it has any fact. */
export function anyOf<T extends object>(fields: Fields<T>): Read<T> {
  const read = record<T>([], fields)
  const readAny: Read<T> = value => {
    const facts = read(value)
    for (const _ in facts) return facts
    return undefined
  }
  return shaped(readAny, shapeOf(read))
}
