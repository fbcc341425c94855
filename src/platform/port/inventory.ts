// The port's part for the inventory: things that can be asked about.
import type { Collected, Owner, OwnerKind } from '../../model/inventory.ts'
import type { Millis } from '../../model/instant.ts'

/** What the inventory asks about: one kind of thing of a project or group, or one configured query. */
export interface Thing {
  readonly kind: string
  /** As configured: a path or an id, or the name of a query. */
  readonly of: string
  /** How to look up its owner; undefined: it belongs to the instance. */
  readonly owner?: NamedOwner | undefined
  readonly every: Millis
  /** Requests of one round, at least. */
  readonly atLeast: number
  /** The pause doubles from the first failure on, because the platform blocks queries that fail repeatedly. */
  readonly isBlockable?: boolean | undefined
  collect(round: ThingRound): Promise<Collected>
}

export interface ThingRound {
  readonly owner: Owner | undefined
  readonly now: Millis
  /** What the round before stored, as JSON. What cannot be parsed is ignored. */
  readonly memory: unknown
  readonly signal: AbortSignal
}

/** What the configuration names: a project or a group, by its id or path. */
export interface NamedOwner {
  readonly as: OwnerKind
  readonly named: string
}

/** Rejects with a PlatformError if it does not exist, or the token may not see it. */
export type LookUpOwner = (owner: NamedOwner, signal: AbortSignal) => Promise<Owner>
