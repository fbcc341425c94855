// The part of the store that a person may see. All code that reads the store for people takes a scope (`reads.ts`). The scope becomes a condition of
// each query: limits, cursors, counts and sums are the same as if the store contained nothing else.
import { namesAny } from '../../../lib/named-paths.ts'

/** The owner of stored data: a project, a group (for an event of no project), or the instance as a whole if the path is empty. */
export interface Owner {
  readonly instance: string
  /** The last known full path of the project or group. */
  readonly path: string
}

export interface Scope {
  /**
   * The kind of limit. `none`: people see everything. `hidden`: they see everything except hidden projects. `own`: they see only some projects, and
   * no state of destinations.
   */
  readonly bounds: 'none' | 'hidden' | 'own'
  /** Whether the scope includes this owner. An empty instance stands for any instance: an owner that is hidden on one of them is then not seen. */
  readonly sees: (owner: Owner) => boolean
}

/** Replaces a text that may name any project, for people who may not see all projects. */
const untold = 'Not shown, because it may name projects that you do not see: the log has it.'

/**
 * Returns a text that belongs to no project, such as the error of a backend, as this scope shows it: whole, or replaced by a notice. It is replaced
 * for people who see only some projects. For others it is replaced only if it names a hidden project.
 */
export function textWithin({ bounds, sees }: Scope, text: string): string {
  if (bounds === 'none') return text
  return bounds === 'own' || namesAny(text, path => !sees({ instance: '', path })) ? untold : text
}

/**
 * The scope without limits: for the daemon's own work, for commands, and for people who may see everything on an instance without hidden projects.
 */
export const everything: Scope = { bounds: 'none', sees: () => true }
