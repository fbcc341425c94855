// The rows of attribute tables, from which both the attributes and their reference are made.

/**
 * Rows that only some settings have: `run` if pipeline spans are named `RUN {name}`; `contract` and `strict` by `PIPESPAN_CONVENTIONS`, for what
 * these do differently (listed in `scripts/docs/strict.ts`).
 */
export type RowVariant = 'run' | Conventions

/** How the conventions are followed: where they differ from the contract, by the contract, or to the letter. */
export type Conventions = 'contract' | 'strict'

interface RowOf<S, T extends string, V> {
  /**
   * The names with this value: the legacy one first if there is one, then those of the conventions or the vendor. Vendor names begin with
   * `platform.`, which stands for the profile's namespace.
   */
  readonly keys: readonly [string, ...string[]]
  readonly type: T
  /** For the reference: when it is present, and a note. */
  readonly when: string
  readonly note?: string
  readonly value: (subject: S) => V | undefined
  /**
   * It has few values, which recur, such as stages and runners, so their encoding may be cached. Adjacent rows with the same mark are cached
   * together: they should be facts of one thing, beginning with the one that identifies it.
   */
  readonly recurs?: true | string
  /** Undefined: with all settings. */
  readonly only?: RowVariant
}

export type AttributeRow<S> =
  | RowOf<S, 'string', string>
  | RowOf<S, 'string[]', readonly string[]>
  | RowOf<S, 'int', number>
  /** In ms, exported as an integer of nanoseconds since 1970. */
  | RowOf<S, 'nanoseconds', number>
  | RowOf<S, 'double', number>
  | RowOf<S, 'bool', boolean>

/** A row of a text with one name, as most attributes of metrics are. */
export function textRow<S>(
  key: string,
  when: string,
  value: (subject: S) => string | undefined,
  note?: string,
): RowOf<S, 'string', string> {
  return { keys: [key], type: 'string', when, value, ...(note !== undefined && { note }) }
}

/** The rows that settings with these variants have. */
export function rowsIn<R extends { readonly only?: RowVariant }>(
  rows: readonly R[],
  variants: ReadonlySet<RowVariant>,
): readonly R[] {
  return rows.filter(({ only }) => only === undefined || variants.has(only))
}

/** The prefix of vendor names in the tables. */
export const vendorPrefix = 'platform.'

/** Milliseconds of a number of seconds. */
export function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}

/** The text unless it is blank. */
export function notBlank(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text
}
