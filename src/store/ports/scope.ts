// What somebody may see. Whatever reads the store for people takes a scope (`reads.ts`), and it is a condition of each of its queries: limits,
// cursors, counts and sums are those of a store that has nothing else.

/** What data belongs to: a project, a group (an event of no project), or with an empty path the instance as a whole. */
export interface Owner {
  readonly instance: string
  /** Full path, as last known. */
  readonly path: string
}

export interface Scope {
  /**
   * `none`: everything. `hidden`: everything except hidden projects. `own`: only some projects. In a bounded scope nobody sees texts that may name a
   * project but belong to none, such as the errors of backends; `own` sees no state of destinations either.
   */
  readonly bounds: 'none' | 'hidden' | 'own'
  readonly sees: (owner: Owner) => boolean
}

/** Stands in a bounded scope for a text that may name any project. */
export const untold = 'Not shown, because it may name projects that you do not see: the log has it.'

/** For the daemon's own work, for commands, and for people without bounds where no project is hidden. */
export const everything: Scope = { bounds: 'none', sees: () => true }
