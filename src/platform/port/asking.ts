// Declares the requests that features send to the platform: requests to any path of the API, and objects that are requested at intervals. A part of
// the port.
import type { z } from 'zod'
import type { Collected, Owner, OwnerKind } from '../../model/inventory.ts'
import type { Millis } from '../../model/instant.ts'

/** A list that was read to its end or to the maximum number of items. */
export interface Listed<T> {
  readonly items: readonly T[]
  /** Minimum number of items that were not read; 0 if the list is complete. */
  readonly left: number
}

/** The query parameters of a request. Undefined values are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** Requests with the same options to any path of the API. A request is for one object, for a whole list or for a change. */
export interface Asking {
  one<S extends z.ZodType>(path: string, schema: S, query?: Query): Promise<z.output<S>>
  file<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>>
  /** Returns the items of a list, at most `max` (default `maxListed`). `wanted`: optional fields; the log names those that are absent. */
  all<S extends z.ZodType>(
    path: string,
    schema: S,
    query?: Query,
    max?: number,
    wanted?: readonly string[],
  ): Promise<Listed<z.output<S>>>
  /** Sends a change. It is not repeated if its outcome is unknown. Then the caller must check whether the change was made. */
  post<S extends z.ZodType>(path: string, body: Readonly<Record<string, unknown>>, schema: S): Promise<z.output<S>>
}

/** One object that is requested at intervals, such as the agents of one project, or one configured query. */
export interface Thing {
  readonly kind: string
  /** The path or ID of the project or group as configured, or another name. */
  readonly of: string
  /** The project or group to look up. If undefined, the object belongs to the instance. */
  readonly owner?: NamedOwner | undefined
  readonly every: Millis
  /** Minimum number of requests in one round. */
  readonly atLeast: number
  /** True for queries. The platform blocks queries that fail repeatedly, so the pause doubles from the first failure on. */
  readonly isBlockable?: boolean | undefined
  collect(round: ThingRound): Promise<Collected>
}

export interface ThingRound {
  /** Sends requests to the platform. Undefined if no platform is configured. */
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
