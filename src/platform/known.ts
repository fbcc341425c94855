// Removes undefined fields, so that two observations with the same facts compare as equal and are stored alike.

/** A copy of the record without its undefined fields. */
export function known<T extends object>(fields: T): T {
  const defined: Partial<T> = {}
  for (const field in fields) if (fields[field] !== undefined) defined[field] = fields[field]
  return defined as T
}

/** Like `known`, but answers undefined if no field is left. */
export function anyKnown<T extends object>(fields: T): T | undefined {
  const defined = known(fields)
  return Object.keys(defined).length === 0 ? undefined : defined
}
