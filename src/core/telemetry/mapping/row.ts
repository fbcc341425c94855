// The rows of attribute tables. Both the attributes and the reference documentation are generated from them.

/**
 * Variants of rows that are exported only with certain settings. `run`: pipeline spans are named `RUN {name}`. `contract` and `strict`: the value of
 * `PIPESPAN_CONVENTIONS`, for rows in which the two differ (listed in `scripts/docs/strict.ts`).
 */
export type RowVariant = 'run' | Conventions

/**
 * How strictly the conventions are followed. `contract`: where the conventions and the contract differ, the contract applies. `strict`: the
 * conventions apply to the letter.
 */
export type Conventions = 'contract' | 'strict'

interface RowOf<S, T extends string, V> {
  /**
   * The attribute names for this value: the legacy name first if there is one, then the names from the conventions or the vendor. Vendor names start
   * with `platform.`, which stands for the profile's namespace.
   */
  readonly keys: readonly [string, ...string[]]
  readonly type: T
  /** When the attribute is present, as text for the generated reference. `note` adds a remark. */
  readonly when: string
  readonly note?: string
  readonly value: (subject: S) => V | undefined
  /**
   * Whether the attribute has few, recurring values, such as stages and runners, so that their encoding can be cached. Adjacent rows with the same
   * `recurs` are cached together. They should describe one object, starting with the attribute that identifies it.
   */
  readonly recurs?: true | string
  /** The row is exported only with this setting. If undefined, it is always exported. */
  readonly only?: RowVariant
}

export type AttributeRow<S> =
  | RowOf<S, 'string', string>
  | RowOf<S, 'string[]', readonly string[]>
  | RowOf<S, 'int', number>
  /** A time in ms, exported as integer nanoseconds since 1970. */
  | RowOf<S, 'nanoseconds', number>
  | RowOf<S, 'double', number>
  | RowOf<S, 'bool', boolean>

/** Creates a row for a string attribute with a single name, the usual form for metric attributes. */
export function textRow<S>(
  key: string,
  when: string,
  value: (subject: S) => string | undefined,
  note?: string,
): RowOf<S, 'string', string> {
  return { keys: [key], type: 'string', when, value, ...(note !== undefined && { note }) }
}

/** Returns the rows that settings with these variants export. */
export function rowsIn<R extends { readonly only?: RowVariant }>(
  rows: readonly R[],
  variants: ReadonlySet<RowVariant>,
): readonly R[] {
  return rows.filter(({ only }) => only === undefined || variants.has(only))
}

/** The prefix of vendor attribute names in the tables. */
export const vendorPrefix = 'platform.'

export function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}

export function notBlank(text: string | undefined): string | undefined {
  return text === undefined || text.trim() === '' ? undefined : text
}
