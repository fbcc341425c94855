// The values of the operator's attribute (PIPESPAN_PAGES_GROUP_BY) that known projects have, and the filter by one of them.

export interface OwnValues {
  /** The name of the attribute; undefined without PIPESPAN_PAGES_GROUP_BY. */
  readonly name: string | undefined
  /** Full paths by value, in the order of the values. */
  readonly projects: ReadonlyMap<string, ReadonlySet<string>>
}

/** The filter by a value, as pages show it. */
export interface OwnFilter {
  readonly name: string | undefined
  /** To choose from. */
  readonly values: readonly string[]
  readonly value: string | undefined
  /** Says that no known project has the value. */
  readonly unknown: string | undefined
}
