// Undefined means "this source did not say": such fields are left out of what is observed, so that it compares and stores alike.

/** The record without its undefined fields. */
export function known<T extends object>(fields: T): T {
  const said: Partial<T> = {}
  for (const field in fields) if (fields[field] !== undefined) said[field] = fields[field]
  return said as T
}

/** The same; undefined when the source said nothing at all. */
export function anyKnown<T extends object>(fields: T): T | undefined {
  const said = known(fields)
  return Object.keys(said).length === 0 ? undefined : said
}
