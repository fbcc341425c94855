// How a table of attributes is declared: the attributes and their reference are both made from its rows.

interface RowOf<S, T extends string, V> {
  /**
   * The names that carry this value: the legacy one first where there is one, then those of the conventions or the vendor.
   * Vendor names are written under `platform.`; a profile's namespace takes its place.
   */
  readonly keys: readonly [string, ...string[]]
  readonly type: T
  /** Presence, and what a reader must know beyond the name, for the reference. */
  readonly when: string
  readonly note?: string
  readonly value: (subject: S) => V | undefined
  /**
   * Its values are few and come again and again, such as stages and runners: what is written for them may be remembered. Rows of the same
   * mark that stand together are remembered together. So they should be facts of one thing, and the first of them the one that distinguishes it.
   */
  readonly recurs?: true | string
}

export type AttributeRow<S> =
  | RowOf<S, 'string', string>
  | RowOf<S, 'string[]', readonly string[]>
  | RowOf<S, 'int', number>
  /** An instant in ms, exported as an integer of nanoseconds since 1970. */
  | RowOf<S, 'nanoseconds', number>
  | RowOf<S, 'double', number>
  | RowOf<S, 'bool', boolean>

/** The prefix that vendor names have in the tables. */
export const vendorPrefix = 'platform.'

/** Whole milliseconds of a number of seconds. */
export function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}

/** The text where there is any. */
export function notBlank(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text
}
