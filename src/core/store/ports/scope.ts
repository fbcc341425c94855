// The part of the store that a person may see. All code that reads the store on behalf of people takes a scope (`reads.ts`). The scope becomes a
// condition of each query, so limits, cursors, counts and sums are the same as if the store contained nothing else.
import { namesAny } from '../../../lib/named-paths.ts'

/** The owner of stored data: a project, a group (for an event without a project), or the whole instance if the path is empty. */
export interface Owner {
  readonly instance: string
  /** The last known full path of the project or group. */
  readonly path: string
}

export interface Scope {
  /**
   * The kind of limit. `none`: people see everything. `hidden`: they see everything except hidden projects. `own`: they see only some projects, and
   * not the state of destinations.
   */
  readonly bounds: 'none' | 'hidden' | 'own'
  /** Whether the scope includes this owner. An empty instance means any instance: the owner is then excluded if it is hidden on one of them. */
  readonly sees: (owner: Owner) => boolean
}

/** Shown instead of a message that may name any project, to people who may not see all projects. */
const notice = 'Not shown, because the message may name projects that you may not see. The log contains it.'

/**
 * Returns a message that belongs to no project, such as a backend's error message, as this scope may show it: unchanged, or replaced by a notice. For
 * people who see only some projects, it is always replaced. For others, it is replaced only if it names a hidden project.
 */
export function textWithin({ bounds, sees }: Scope, text: string): string {
  if (bounds === 'none') return text
  return bounds === 'own' || namesAny(text, path => !sees({ instance: '', path })) ? notice : text
}

/**
 * The scope without limits: for the daemon's own work, for commands, and for people who may see everything on an instance without hidden projects.
 */
export const everything: Scope = { bounds: 'none', sees: () => true }
