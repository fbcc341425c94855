// Which destinations take what: each takes all projects, or those that the operator chose for it. Pure.

/** What is to be sent is about this project, or about this group; about neither if both are undefined. */
export interface Subject {
  readonly instance?: string | undefined
  /** Full path of the project, or of the group. */
  readonly path?: string | undefined
  /** Undefined if it is about no project. */
  readonly projectId?: number | undefined
}

/** The queue of one signal to one destination. */
export interface Route<Signal extends string = string> {
  readonly destination: string
  readonly signal: Signal
  /** Undefined: it takes everything. */
  readonly takes?: ((subject: Subject) => boolean) | undefined
}

/** Where something is sent. */
export function routed<Signal extends string>(
  routes: readonly Route<Signal>[],
  subject: Subject,
): { readonly destination: string; readonly signal: Signal }[] {
  return routes
    .filter(({ takes }) => takes?.(subject) ?? true)
    .map(({ destination, signal }) => ({ destination, signal }))
}

/** The subject of a chunk, an event, a condition or a reading. */
export function subjectOf(
  of: ({ readonly instance: string } | { readonly key: { readonly instance: string } }) & {
    readonly project?: { readonly id: number; readonly path?: string | undefined } | undefined
    readonly group?: string | undefined
  },
): Subject {
  const instance = 'instance' in of ? of.instance : of.key.instance
  return { instance, path: of.project?.path ?? of.group, projectId: of.project?.id }
}

// What was pending for a destination when its endpoint changed is held, in a queue with a name of its own.

/** A character that no destination has in its name. */
const sign = '@'

/** `mark`: of the former endpoint. */
export function heldName(destination: string, mark: string): string {
  return destination + sign + mark
}

/** The destination whose backlog is held in this queue; undefined: it is an ordinary queue. */
export function heldFor(queue: string): string | undefined {
  const at = queue.indexOf(sign)
  return at === -1 ? undefined : queue.slice(0, at)
}
