// Declares what is asked of a platform from time to time. A part of the port.
import type { Asking } from './asking.ts'
import type { Collected, Owner, OwnerKind } from '../../model/inventory.ts'
import type { Millis } from '../../model/instant.ts'

/** One thing that is asked about, such as the agents of one project, or one configured query. */
export interface Thing {
  readonly kind: string
  /** The project or group as configured (path or ID), or a name. */
  readonly of: string
  /** The project or group to look up; undefined: it belongs to the instance. */
  readonly owner?: NamedOwner | undefined
  readonly every: Millis
  /** Minimum number of requests in one round. */
  readonly atLeast: number
  /** True for queries: the platform blocks queries that fail repeatedly, so the pause doubles from the first failure on. */
  readonly isBlockable?: boolean | undefined
  collect(round: ThingRound): Promise<Collected>
}

export interface ThingRound {
  /** Undefined where no platform is configured. */
  readonly ask?: Asking | undefined
  readonly owner: Owner | undefined
  readonly now: Millis
  /** JSON that the previous round stored. It is ignored if it cannot be parsed. */
  readonly memory: unknown
}

/** A project or a group that the configuration names by its ID or path. */
export interface NamedOwner {
  readonly as: OwnerKind
  readonly named: string
}
