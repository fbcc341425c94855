// Determines which destinations receive an item. Each destination receives the items of all projects, or only those of the projects that the operator
// selected for it. Pure.

/** The project or group that an outgoing item is about. Both fields are undefined if it is about neither. */
export interface Subject {
  readonly instance?: string | undefined
  /** Full path of the project or of the group. */
  readonly path?: string | undefined
  /** The project's ID; undefined if the item is not about a project. */
  readonly projectId?: number | undefined
}

/** The export queue of one signal to one destination. */
export interface Route<Signal extends string = string> {
  readonly destination: string
  readonly signal: Signal
  /** Whether the destination accepts the items of a subject. If undefined, it accepts all items. */
  readonly takes?: ((subject: Subject) => boolean) | undefined
}

/** The export queues that accept an item about the subject. */
export function routed<Signal extends string>(
  routes: readonly Route<Signal>[],
  subject: Subject,
): { readonly destination: string; readonly signal: Signal }[] {
  return routes
    .filter(({ takes }) => takes?.(subject) ?? true)
    .map(({ destination, signal }) => ({ destination, signal }))
}

/** The subject of a chunk, an event, a condition or an inventory reading. */
export function subjectOf(
  of: ({ readonly instance: string } | { readonly key: { readonly instance: string } }) & {
    readonly project?: { readonly id: number; readonly path?: string | undefined } | undefined
    readonly group?: string | undefined
  },
): Subject {
  const instance = 'instance' in of ? of.instance : of.key.instance
  return { instance, path: of.project?.path ?? of.group, projectId: of.project?.id }
}

// Names the queues that hold a backlog. If a destination's endpoint changes, items that are still pending for the former endpoint are moved to such a
// queue.

/** A character that no destination's name contains. */
const sign = '@'

/** The name of the queue for a held backlog. `mark` identifies the former endpoint. */
export function heldName(destination: string, mark: string): string {
  return destination + sign + mark
}

/** The destination whose backlog a queue holds; undefined for an ordinary queue. */
export function heldFor(queue: string): string | undefined {
  const at = queue.indexOf(sign)
  return at === -1 ? undefined : queue.slice(0, at)
}
