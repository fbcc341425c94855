// Declares requests to any path of the API, for what features ask of the platform. A part of the port.
import type { z } from 'zod'

/** A list that was read to its end or to the maximum number of items. */
export interface Listed<T> {
  readonly items: readonly T[]
  /** Minimum number of items that were not read; 0 if the list is complete. */
  readonly left: number
}

/** Undefined values are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

/** Requests with the same options to any path of the API: for one object, a whole list or a change. */
export interface Asking {
  one<S extends z.ZodType>(path: string, schema: S, query?: Query): Promise<z.output<S>>
  file<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>>
  /** The items of a list, at most `max` (default `maxListed`). `wanted`: optional fields whose absence the log names. */
  all<S extends z.ZodType>(
    path: string,
    schema: S,
    query?: Query,
    max?: number,
    wanted?: readonly string[],
  ): Promise<Listed<z.output<S>>>
  /** Sends a change. It is not repeated if its outcome is unknown; the caller must then check whether the change was made. */
  post<S extends z.ZodType>(path: string, body: Readonly<Record<string, unknown>>, schema: S): Promise<z.output<S>>
}
