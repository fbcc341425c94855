// Sends the inventory's requests to any path of the API: for one object, a whole list or a change.
import { allOf } from './pages.ts'
import type { z } from 'zod'
import type { CallOptions, Listed } from '../port.ts'
import type { Query } from './query.ts'
import type { Reader } from './read.ts'

/** Every call rejects with a PlatformError or, if its signal is aborted, with the signal's reason. Paths begin with a slash. */
export interface Asking {
  one<S extends z.ZodType>(path: string, schema: S, query?: Query): Promise<z.output<S>>
  /** A JSON file. The platform may redirect to another host for it. */
  file<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>>
  /** The items of a list, at most `max` (default `maxListed`). Invalid items are omitted. The log names `wanted` fields that items lack. */
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

/** Maximum number of items that the inventory reads of one list. */
export const maxListed = 1_000

export function createAsking({ one, file, pages, change }: Reader, call: CallOptions): Asking {
  return {
    one: async (path, schema, query) => one(path, schema, call, query),
    file: async (path, schema) => file(path, schema, call),
    all: async (path, schema, query, max = maxListed, wanted) =>
      allOf(pages(path, schema, { ...call, max }, query, wanted)),
    post: async (path, body, schema) => change(path, schema, call, { method: 'POST', body, secrets: [] }),
  }
}
