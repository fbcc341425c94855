// Which fields of a payload anybody reads: known from the readers' own tables, so that of a large one nothing else is built.

/**
 * `scalar`: a text, number or the like; `texts`: a list of them. Of an object those fields, each with its shape; of a list its
 * items, each when it is asked for.
 */
export type Shape = 'scalar' | 'texts' | ObjectShape | ItemsShape

export interface ObjectShape {
  readonly fields: ReadonlyMap<string, Shape>
}

export interface ItemsShape {
  readonly items: Shape
}

const shapes = new WeakMap<object, Shape>()

/** Records what a reader of values reads; answers the reader. Those of single values need not. */
export function shaped<R extends object>(read: R, shape: Shape): R {
  shapes.set(read, shape)
  return read
}

export function shapeOf(read: object): Shape {
  return shapes.get(read) ?? 'scalar'
}

/** An object of which these fields are read, and those that the readers look at. */
export function objectShape(fields: Readonly<Record<string, Shape>>, ...readers: readonly object[]): ObjectShape {
  const all = new Map<string, Shape>()
  for (const read of readers) {
    const shape = shapeOf(read)
    if (typeof shape === 'object' && 'fields' in shape) for (const [name, inner] of shape.fields) all.set(name, inner)
  }
  for (const [name, inner] of Object.entries(fields)) all.set(name, inner)
  return { fields: all }
}
