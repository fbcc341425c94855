// The collected inventory of the platform: points and events, their owners, and the number of requests.
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

/** What a list in the configuration names. */
export type OwnerKind = 'projects' | 'groups' | 'groups or projects'

/** What was configured, as the platform knows it: a project, a group, or without both the whole instance. */
export interface Owner {
  readonly project?: ProjectFacts | undefined
  readonly group?: { readonly path: string } | undefined
}

export interface Collected {
  readonly points: readonly CollectedPoint[]
  /** Points that were left out, because there are more than are exported. */
  readonly omitted?: number | undefined
  /** Events, each of which is exported once, as a log record. */
  readonly events?: readonly CollectedEvent[] | undefined
  /** What the answers lack, in a sentence with its remedy: the round is complete, and the log and the page show the sentence. */
  readonly problem?: string | undefined
  /** Plain JSON, for the next round. */
  readonly memory?: unknown
  /** The round continues after so many ms; until then the points of the round before stay. */
  readonly goesOnIn?: Millis | undefined
}

export interface CollectedPoint {
  readonly metric: string
  readonly attributes: Readonly<Record<string, string | boolean>>
  /** A number; or an instant, exported as the seconds since it or until it. */
  readonly value: number | { readonly since: Millis } | { readonly until: Millis }
}

export interface CollectedEvent {
  /** Identifies it, also if it is exported again after a kill. */
  readonly key: string
  readonly name: string
  /** Default: `info`. */
  readonly severity?: 'info' | 'warn' | undefined
  readonly body: string
  readonly attributes: Readonly<Record<string, string | number | boolean>>
}

/** Points of one round that are exported. */
export const maxPoints = 10_000

const hour = 3_600_000

export interface AskedAbout {
  readonly every: Millis
  /** Requests of one round, at least. */
  readonly atLeast: number
  /** Its owner, which is looked up once a day, however many things it has; undefined: none. */
  readonly owner?: { readonly as: OwnerKind; readonly named: string } | undefined
}

/** How long an owner is known before it is looked up again, ms. */
export const knownFor = 24 * hour

/** The minimum of requests an hour, averaged over a day. Large answers may need more. */
export function requestsAnHour(asked: readonly AskedAbout[]): number {
  const rounds = asked.reduce((sum, { every, atLeast }) => sum + (atLeast * hour) / every, 0)
  const owners = new Set(
    asked.flatMap(({ owner }) => (owner === undefined ? [] : [`${owner.as === 'groups'} ${owner.named}`])),
  )
  return rounds + (owners.size * hour) / knownFor
}
