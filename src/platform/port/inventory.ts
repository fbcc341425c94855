// Declares what the inventory reads from the platform. A part of the port.
import type { Collected, Owner, OwnerKind } from '../../model/inventory.ts'
import type { Millis } from '../../model/instant.ts'

/** One entry of the inventory: one collector for one project or group, or one configured query. */
export interface Thing {
  readonly kind: string
  /** The project or group as configured (path or ID), or the name of the query. */
  readonly of: string
  /** The project or group to look up; undefined for a query, which belongs to the instance. */
  readonly owner?: NamedOwner | undefined
  readonly every: Millis
  /** Minimum number of requests in one round. */
  readonly atLeast: number
  /** True for queries: the platform blocks queries that fail repeatedly, so the pause doubles from the first failure on. */
  readonly isBlockable?: boolean | undefined
  collect(round: ThingRound): Promise<Collected>
}

export interface ThingRound {
  readonly owner: Owner | undefined
  readonly now: Millis
  /** JSON that the previous round stored. It is ignored if it cannot be parsed. */
  readonly memory: unknown
  readonly signal: AbortSignal
}

/** A project or a group that the configuration names by its ID or path. */
export interface NamedOwner {
  readonly as: OwnerKind
  readonly named: string
}

/** Looks up a project or group. Rejects with a PlatformError if it does not exist, or the token may not see it. */
export type LookUpOwner = (owner: NamedOwner, signal: AbortSignal) => Promise<Owner>
