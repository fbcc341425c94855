// What rows of a table are about, where several after each other tell of one thing: whether it is the thing of the span before is
// asked once, and not of each row.

export interface Thing<S> {
  /** Undefined where there is none: then none of the rows tells anything. */
  readonly of: (subject: S) => object | undefined
  /** True only where all the rows tell the same of both: it compares every fact that they read, which a test holds it to. */
  readonly same: (a: object, b: object) => boolean
}

export function thing<S, T extends object>(of: (subject: S) => T | undefined, same: (a: T, b: T) => boolean): Thing<S> {
  // What `of` gives is all that `same` is ever asked about.
  return { of, same: same as Thing<S>['same'] }
}

/** True for the same value, and for lists of the same values. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || (Array.isArray(a) && Array.isArray(b) && sameList(a, b))
}

/** Lists are the same when all that is in them is. */
export function sameList(a: readonly unknown[] | undefined, b: readonly unknown[] | undefined): boolean {
  if (a === b) return true
  if (a?.length !== b?.length || a === undefined || b === undefined) return false
  for (let n = 0; n < a.length; n += 1) if (a[n] !== b[n]) return false
  return true
}
