// Which fields of a payload are read, from the readers' own tables, so that only these are parsed of a large payload.
import type { Items } from './wire-items.ts'

/** `scalar`: a text, number or the like; `texts`: a list of these. An object has shapes for its fields, and a list one for its items. */
export type Shape = 'scalar' | 'texts' | ObjectShape | ItemsShape

export interface ObjectShape {
  readonly fields: ReadonlyMap<string, Shape>
}

export interface ItemsShape {
  readonly items: Shape
  /** Begins the list that takes the items. */
  readonly begin: () => Items
}

const shapes = new WeakMap<object, Shape>()

/** Records the shape that a reader reads; answers the reader. Readers of single values do not need it. */
export function shaped<R extends object>(read: R, shape: Shape): R {
  shapes.set(read, shape)
  return read
}

export function shapeOf(read: object): Shape {
  return shapes.get(read) ?? 'scalar'
}

/** An object with these fields, and those of the readers. */
export function objectShape(fields: Readonly<Record<string, Shape>>, ...readers: readonly object[]): ObjectShape {
  const all = new Map<string, Shape>()
  for (const read of readers) {
    const shape = shapeOf(read)
    if (typeof shape === 'object' && 'fields' in shape) for (const [name, inner] of shape.fields) all.set(name, inner)
  }
  for (const [name, inner] of Object.entries(fields)) all.set(name, inner)
  return { fields: all }
}
