// Removes undefined fields, so that observations compare and are stored alike.

/** The record without its undefined fields. */
export function known<T extends object>(fields: T): T {
  const said: Partial<T> = {}
  for (const field in fields) if (fields[field] !== undefined) said[field] = fields[field]
  return said as T
}

/** The same; undefined if no field is left. */
export function anyKnown<T extends object>(fields: T): T | undefined {
  const said = known(fields)
  return Object.keys(said).length === 0 ? undefined : said
}
