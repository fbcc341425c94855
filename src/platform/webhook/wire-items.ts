// A list of a payload whose items are read one by one and not kept, so that the lists of a large body need little memory.

/** Counts its items. Subclasses read them, too. */
export class Items {
  length = 0

  add(_item: unknown): void {
    this.length += 1
  }
}

/** The number of items of a list; undefined if it is none. */
export function itemCount(value: unknown): number | undefined {
  return Array.isArray(value) || value instanceof Items ? value.length : undefined
}

/** A list that was read while its body was parsed, or is read now; undefined if it is none. */
export function readItems<List extends Items>(value: unknown, begin: () => List): List | undefined {
  // The shape of a large body begins its lists with the same function.
  if (value instanceof Items) return value as List
  if (!Array.isArray(value)) return undefined
  const list = begin()
  for (const item of value) list.add(item)
  return list
}
