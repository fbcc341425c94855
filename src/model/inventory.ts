// Declares the inventory that is collected from the platform: its data points and events, the projects and groups that own them, and the number of
// requests that collecting it takes.
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

/** Whether a list in the configuration names projects, groups or both. */
export type OwnerKind = 'projects' | 'groups' | 'groups or projects'

/** The platform's description of a configured owner, which is a project or a group. If both fields are undefined, the owner is the whole instance. */
export interface Owner {
  readonly project?: ProjectFacts | undefined
  readonly group?: { readonly path: string } | undefined
}

export interface Collected {
  readonly points: readonly CollectedPoint[]
  /** Number of data points that were omitted because the maximum was exceeded. */
  readonly omitted?: number | undefined
  /** Events that were collected. Each is exported once, as a log record. */
  readonly events?: readonly CollectedEvent[] | undefined
  /**
   * A sentence about what is missing from the platform's responses and how to fix it. It is logged and shown on a page, but the collection round
   * counts as complete.
   */
  readonly problem?: string | undefined
  /** JSON that is stored for the next collection round. */
  readonly memory?: unknown
  /** Time in ms after which an unfinished collection round continues. Until then, the data points of the previous round are kept. */
  readonly continueInMs?: Millis | undefined
}

export interface CollectedPoint {
  readonly metric: string
  readonly attributes: Readonly<Record<string, string | boolean>>
  /** The value of a data point: a number, or a time. A time is exported as the number of seconds since it or until it. */
  readonly value: number | { readonly since: Millis } | { readonly until: Millis }
}

export interface CollectedEvent {
  /** Identifies the event. If the event is exported again after a crash, it has the same key. */
  readonly key: string
  readonly name: string
  /** The severity of the log record. Default: `info`. */
  readonly severity?: 'info' | 'warn' | undefined
  readonly body: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

/** Maximum number of data points that are exported per collection round. */
export const maxPoints = 10_000

const hour = 3_600_000

export interface AskedAbout {
  readonly every: Millis
  /** Minimum number of requests in one collection round. */
  readonly atLeast: number
  /**
   * The project or group that must be looked up on the platform. Entries with the same owner share one lookup per day. Undefined if no lookup is
   * needed.
   */
  readonly owner?: { readonly as: OwnerKind; readonly named: string } | undefined
}

/** Time in ms for which a looked-up owner is used before it is looked up again. */
export const knownFor = 24 * hour

/** Minimum number of requests per hour that the given collections send, averaged over a day. Large responses may take more requests. */
export function requestsAnHour(asked: readonly AskedAbout[]): number {
  const rounds = asked.reduce((sum, { every, atLeast }) => sum + (atLeast * hour) / every, 0)
  const owners = new Set(
    asked.flatMap(({ owner }) => (owner === undefined ? [] : [`${owner.as === 'groups'} ${owner.named}`])),
  )
  return rounds + (owners.size * hour) / knownFor
}
