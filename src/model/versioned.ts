// The merging of records: every field remembers which observation told it, so that any order of merging ends the same.
//
// A stamp is a string that sorts by how new an observation is. Of two observations of one record the greater stamp wins
// each field that it knows; a field that it does not know keeps its older value and that value's stamp. Of two equal
// stamps the greater value (as JSON) wins. So merging is commutative, associative and idempotent.

export type Version = string

/** A record merged from observations. `older` holds the stamps of fields that the newest observation did not know. */
export interface Versioned<F extends object> {
  readonly version: Version
  readonly facts: F
  readonly older?: Readonly<Record<string, Version>> | undefined
}

/** Lets one field follow a law of its own: true when `a` must be kept over `b`, undefined when the stamps decide. */
export type Owner = (a: unknown, b: unknown) => boolean | undefined

/** Builds a stamp from parts in order of weight; numbers are padded so that they sort as numbers. */
export function versionOf(...parts: readonly (number | string)[]): Version {
  let stamp = ''
  for (const [at, part] of parts.entries()) {
    const text = typeof part === 'number' ? padded(part) : part
    stamp = at === 0 ? text : `${stamp}:${text}`
  }
  return stamp
}

/** `String(number).padStart(12, '0')`, for most numbers without a look at their digits. */
function padded(number: number): string {
  if (Number.isInteger(number) && number >= 0 && number < 100)
    return (small[number] ??= String(number).padStart(12, '0'))
  return String(number).padStart(12, '0')
}

const small: string[] = []

/** The first part of a stamp, as a number: the horizon, in seconds. */
export function newestSecondOf(stamp: Version): number {
  return Number(stamp.slice(0, 12))
}

/** The stamp of the observation that told this field; undefined when no one has. */
export function versionOfField<F extends object>(record: Versioned<F>, field: keyof F & string): Version | undefined {
  if (record.facts[field] === undefined) return undefined
  return record.older?.[field] ?? record.version
}

/** Wraps what one observation told. Fields that are undefined are dropped: they are unknown. */
export function versioned<F extends object>(stamp: Version, facts: F): Versioned<F> {
  return { version: stamp, facts: knownOf(facts) }
}

/** The record without its undefined fields; itself where it has none. */
export function knownOf<F extends object>(facts: F): F {
  let isKnown = true
  for (const field in facts) if (facts[field] === undefined) isKnown = false
  if (isKnown) return facts
  const known: Partial<F> = {}
  for (const field in facts) if (facts[field] !== undefined) known[field] = facts[field]
  return known as F
}

/** Merges two records. Returns `known` itself when `heard` adds nothing. */
export function mergeVersioned<F extends object>(
  known: Versioned<F>,
  heard: Versioned<F>,
  owners?: Readonly<Partial<Record<keyof F, Owner>>>,
): Versioned<F> {
  const stamp = known.version >= heard.version ? known.version : heard.version
  const facts: Record<string, unknown> = {}
  const older: Record<string, Version> = {}
  let isNew = stamp !== known.version
  const fields = new Set([...Object.keys(known.facts), ...Object.keys(heard.facts)]) as Set<keyof F & string>
  for (const field of fields) {
    const a = known.facts[field]
    const b = heard.facts[field]
    const aStamp = versionOfField(known, field)
    const bStamp = versionOfField(heard, field)
    if (aStamp === undefined && bStamp === undefined) continue
    const keepA = aStamp !== undefined && (bStamp === undefined || wins(a, aStamp, b, bStamp, owners?.[field]))
    // `b` only wins with a greater stamp or another value, and so always brings something.
    isNew ||= !keepA
    facts[field] = keepA ? a : b
    const from = (keepA ? aStamp : bStamp) ?? stamp
    if (from !== stamp) older[field] = from
  }
  if (!isNew) return known
  return { version: stamp, facts: facts as F, ...(Object.keys(older).length > 0 ? { older } : {}) }
}

function wins(a: unknown, aStamp: Version, b: unknown, bStamp: Version, owner: Owner | undefined): boolean {
  const owned = owner?.(a, b)
  if (owned !== undefined) return owned
  if (aStamp !== bStamp) return aStamp > bStamp
  if (isSame(a, b)) return true
  return canonical(a) >= canonical(b)
}

/** True only for equal values, and for nearly all of them: most news repeats what is known. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const fields = Object.keys(a)
  if (fields.length !== Object.keys(b).length) return false
  const [left, right] = [a, b] as Record<string, unknown>[]
  return fields.every(field => field in b && isSame(left?.[field], right?.[field]))
}

/** JSON with sorted keys: equal for equal values, whatever order they were built in. */
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
