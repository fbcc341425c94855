// Part of the port: declares requests to any API path, which features send, and the objects that are polled with them.
import type { z } from 'zod'
import type { Collected, Owner, OwnerKind } from '../../model/inventory.ts'
import type { Millis } from '../../model/instant.ts'

/** A list that was read to its end or up to the maximum number of items. */
export interface Listed<T> {
  readonly items: readonly T[]
  /** Minimum number of items that were left unread; 0 if the list is complete. */
  readonly left: number
}

/** The query parameters of a request. Undefined values are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** Sends requests to any API path, all with the same options. Each method reads one object, reads a whole list, or makes a change. */
export interface Asking {
  one<S extends z.ZodType>(path: string, schema: S, query?: Query): Promise<z.output<S>>
  file<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>>
  /** Returns the items of a list, at most `max` (default `maxListed`). `wanted`: optional fields whose absence is logged. */
  all<S extends z.ZodType>(
    path: string,
    schema: S,
    query?: Query,
    max?: number,
    wanted?: readonly string[],
  ): Promise<Listed<z.output<S>>>
  /** Sends a write request. If its outcome is unknown, it is not retried, and the caller must check whether the change was made. */
  post<S extends z.ZodType>(path: string, body: Readonly<Record<string, unknown>>, schema: S): Promise<z.output<S>>
}

/** One object that is polled, such as the agents of one project or one configured query. */
export interface Thing {
  readonly kind: string
  /** The path or ID of the project or group as configured. For any other object, the name under which it is stored. */
  readonly of: string
  /** The project or group that the object belongs to, which must be looked up. If undefined, the object belongs to the instance. */
  readonly owner?: NamedOwner | undefined
  readonly every: Millis
  /** Minimum number of requests that are needed to poll this object once. */
  readonly atLeast: number
  /** True for queries. The platform blocks queries that fail repeatedly, so back-off doubles from the first failure on. */
  readonly isBlockable?: boolean | undefined
  collect(round: ThingRound): Promise<Collected>
}

export interface ThingRound {
  /** Sends requests to the platform. Undefined if no platform is configured. */
  readonly ask?: Asking | undefined
  readonly owner: Owner | undefined
  readonly now: Millis
  /** JSON that the object's previous polling round stored. Invalid JSON is ignored. */
  readonly memory: unknown
}

/** A project or a group that the configuration names by its ID or path. */
export interface NamedOwner {
  readonly as: OwnerKind
  readonly named: string
}
