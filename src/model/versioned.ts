// Merges records field by field; the last writer wins. Each field keeps the version of the observation that it was taken from, so that merging gives
// the same result in any order.
//
// A version is a string that sorts by how new an observation is, such as `001479310008:000000000001:…`. For each field the value with the greater
// version wins, and an unknown value never replaces a known one. If two versions are equal, the greater value (as JSON) wins. So merging is
// commutative, associative and idempotent.

export type Version = string

/** A record that was merged from observations. `older` contains the versions of fields that the newest observation did not report. */
export interface Versioned<F extends object> {
  readonly version: Version
  readonly facts: F
  readonly older?: Readonly<Record<string, Version>> | undefined
}

/** A rule that decides between two values of a field. Returns true if `a` wins, false if `b` wins, and undefined if the newer version wins. */
export type Owner = (a: unknown, b: unknown) => boolean | undefined

/** Joins the parts of a version, most significant first. Numbers are padded so that they sort numerically. */
export function versionOf(...parts: readonly (number | string)[]): Version {
  return parts.map(part => (typeof part === 'number' ? String(part).padStart(12, '0') : part)).join(':')
}

/** The first part of a version: the newest time in the observation, in Unix seconds. */
export function newestSecondOf(version: Version): number {
  return Number(version.slice(0, 12))
}

/** The version of the observation that a field was taken from; undefined if the field is unknown. */
export function versionOfField<F extends object>(record: Versioned<F>, field: keyof F & string): Version | undefined {
  if (record.facts[field] === undefined) return undefined
  return record.older?.[field] ?? record.version
}

/** The facts of one observation with their version. Undefined fields are removed, because they are unknown. */
export function versioned<F extends object>(version: Version, facts: F): Versioned<F> {
  return { version, facts: knownOf(facts) }
}

/** Removes undefined fields from a record. Returns the record itself if there are none. */
export function knownOf<F extends object>(facts: F): F {
  let isKnown = true
  for (const field in facts) if (facts[field] === undefined) isKnown = false
  if (isKnown) return facts
  const known: Partial<F> = {}
  for (const field in facts) if (facts[field] !== undefined) known[field] = facts[field]
  return known as F
}

/** Removes undefined fields from a record. Returns undefined if no field is left. */
export function anyKnown<F extends object>(facts: F): F | undefined {
  const known = knownOf(facts)
  return Object.keys(known).length === 0 ? undefined : known
}

/** Returns whichever of two values is known, or merges them if both are. */
export function either<T>(a: T | undefined, b: T | undefined, merge: (a: T, b: T) => T): T | undefined {
  return a === undefined || b === undefined ? (a ?? b) : merge(a, b)
}

/** Merges two versioned records. Returns `known` itself if `observed` adds nothing. */
export function mergeVersioned<F extends object>(
  known: Versioned<F>,
  observed: Versioned<F>,
  owners?: Readonly<Partial<Record<keyof F, Owner>>>,
): Versioned<F> {
  const version = known.version >= observed.version ? known.version : observed.version
  const facts: Record<string, unknown> = {}
  const older: Record<string, Version> = {}
  let isNew = version !== known.version
  const fields = new Set([...Object.keys(known.facts), ...Object.keys(observed.facts)]) as Set<keyof F & string>
  for (const field of fields) {
    const a = known.facts[field]
    const b = observed.facts[field]
    const aVersion = versionOfField(known, field)
    const bVersion = versionOfField(observed, field)
    if (aVersion === undefined && bVersion === undefined) continue
    const keepA = aVersion !== undefined && (bVersion === undefined || wins(a, aVersion, b, bVersion, owners?.[field]))
    // If `b` wins, its version is greater or its value is different, so the merge always changes the record.
    isNew ||= !keepA
    facts[field] = keepA ? a : b
    const from = (keepA ? aVersion : bVersion) ?? version
    if (from !== version) older[field] = from
  }
  if (!isNew) return known
  return { version, facts: facts as F, ...(Object.keys(older).length > 0 ? { older } : {}) }
}

function wins(a: unknown, aVersion: Version, b: unknown, bVersion: Version, owner: Owner | undefined): boolean {
  const owned = owner?.(a, b)
  if (owned !== undefined) return owned
  if (aVersion !== bVersion) return aVersion > bVersion
  if (isSame(a, b)) return true
  return canonical(a) >= canonical(b)
}

/** A cheap comparison that returns true only if the values are equal. It avoids comparing JSON, because most observations repeat known values. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const fields = Object.keys(a)
  if (fields.length !== Object.keys(b).length) return false
  const [left, right] = [a, b] as Record<string, unknown>[]
  return fields.every(field => field in b && isSame(left?.[field], right?.[field]))
}

/** JSON with sorted keys. Equal values give equal JSON, regardless of the order in which they were built. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    const source = inner as Record<string, unknown>
    return Object.fromEntries(
      Object.keys(source)
        .sort()
        .map(key => [key, source[key]]),
    )
  })
}
