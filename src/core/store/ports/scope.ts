// What somebody may see. All code that reads the store for people takes a scope (`reads.ts`). It becomes a condition of each query: limits,
// cursors, counts and sums are those of a store that contains nothing else.
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
  /** An empty instance stands for any instance: then an owner that is hidden on one of them is not seen. */
  readonly sees: (owner: Owner) => boolean
}

/** Replaces, in a bounded scope, a text that may name any project. */
const untold = 'Not shown, because it may name projects that you do not see: the log has it.'

/**
 * A text that belongs to no project, such as the error of a backend, as this scope sees it: whole or not at all. People who see only some projects do not
 * see it. Others see it unless it names a hidden project.
 */
export function textWithin({ bounds, sees }: Scope, text: string): string {
  if (bounds === 'none') return text
  return bounds === 'own' || namesAny(text, path => !sees({ instance: '', path })) ? untold : text
}

/** For the daemon's own work, for commands, and for people without bounds where no project is hidden. */
export const everything: Scope = { bounds: 'none', sees: () => true }
