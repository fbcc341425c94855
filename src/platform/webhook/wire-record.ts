// Objects off the wire, read by tables: which field tells which fact, and how its value is read.
import { objectShape, shaped, shapeOf, type Shape } from './wire-shape.ts'
import { readObject, type Read, type WireObject } from '../wire-read.ts'

/** One row for each fact: the field's name on the wire, and the reader of its value. */
export type Fields<T> = { readonly [K in keyof T]?: readonly [field: string, read: Read<NonNullable<T[K]>>] }

/** What the fields tell of an object: only what is said. `T` is trusted to have no fact but those of the table required. */
export function fieldsOf<T extends object>(fields: Fields<T>): (from: WireObject) => Partial<T> {
  const rows = (Object.entries(fields) as [keyof T, readonly [string, Read<T[keyof T]>]][]).map(
    ([name, [field, read]]) => ({ name, field, read }),
  )
  const shape = objectShape(Object.fromEntries(rows.map(({ field, read }): [string, Shape] => [field, shapeOf(read)])))
  return shaped((from: WireObject) => {
    const told: Partial<T> = {}
    for (const { name, field, read } of rows) {
      const given = from[field]
      if (given === undefined || given === null) continue
      const value = read(given)
      if (value !== undefined) told[name] = value
    }
    return told
  }, shape)
}

/** An object that is of no use without the facts named; those it has by the table, and all else that it tells. */
export function record<T extends object>(needed: readonly (keyof T)[], fields: Fields<T>): Read<T> {
  const read = fieldsOf(fields)
  const readWhole: Read<T> = value => {
    const from = readObject(value)
    if (from === undefined) return undefined
    const told = read(from)
    return needed.every(name => told[name] !== undefined) ? (told as T) : undefined
  }
  return shaped(readWhole, shapeOf(read))
}

/** An object that is of use as soon as it tells anything. */
export function anyOf<T extends object>(fields: Fields<T>): Read<T> {
  const read = record<T>([], fields)
  const readAny: Read<T> = value => {
    const told = read(value)
    for (const _ in told) return told
    return undefined
  }
  return shaped(readAny, shapeOf(read))
}
