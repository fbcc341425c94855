// What somebody may see. Whatever reads the store for people takes a scope (`reads.ts`), and it is a condition of each of its queries: limits,
// cursors, counts and sums are those of a store that has nothing else.
import { namesAny } from '../../../lib/named-paths.ts'

/** What data belongs to: a project, a group (an event of no project), or with an empty path the instance as a whole. */
export interface Owner {
  readonly instance: string
  /** Full path, as last known. */
  readonly path: string
}

export interface Scope {
  /**
   * `none`: everything. `hidden`: everything except hidden projects. `own`: only some projects, and no state of destinations.
   */
  readonly bounds: 'none' | 'hidden' | 'own'
  /** An empty instance stands for any: then what is hidden on one is not seen. */
  readonly sees: (owner: Owner) => boolean
}

/** Stands in a bounded scope for a text that may name any project. */
const untold = 'Not shown, because it may name projects that you do not see: the log has it.'

/**
 * A text that is of no project, such as the error of a backend, as this scope sees it: whole or not at all. To people who see some projects it is not
 * shown, to others unless it names a hidden one.
 */
export function textWithin({ bounds, sees }: Scope, text: string): string {
  if (bounds === 'none') return text
  return bounds === 'own' || namesAny(text, path => !sees({ instance: '', path })) ? untold : text
}

/** For the daemon's own work, for commands, and for people without bounds where no project is hidden. */
export const everything: Scope = { bounds: 'none', sees: () => true }
