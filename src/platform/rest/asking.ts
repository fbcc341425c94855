// Plain requests to any path of the API, for the inventory: one object, a whole list, a change.
import { allOf } from './pages.ts'
import type { z } from 'zod'
import type { CallOptions, Listed } from '../port.ts'
import type { Query } from './query.ts'
import type { Reader } from './read.ts'

/** Every call rejects with a PlatformError, or with the reason of an aborted signal. Paths begin with a slash. */
export interface Asking {
  one<S extends z.ZodType>(path: string, schema: S, query?: Query): Promise<z.output<S>>
  /** A file of JSON, which another host may keep. */
  file<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>>
  /** The items of a list, by default a thousand at most. Invalid items are left out. */
  all<S extends z.ZodType>(path: string, schema: S, query?: Query, max?: number): Promise<Listed<z.output<S>>>
  /** Sent only once: if the outcome is unknown, the caller must check. */
  post<S extends z.ZodType>(path: string, body: Readonly<Record<string, unknown>>, schema: S): Promise<z.output<S>>
}

/** Items of one list that are read for the inventory. */
export const maxListed = 1_000

export function createAsking({ one, file, pages, change }: Reader, call: CallOptions): Asking {
  return {
    one: async (path, schema, query) => one(path, schema, call, query),
    file: async (path, schema) => file(path, schema, call),
    all: async (path, schema, query, max = maxListed) => allOf(pages(path, schema, { ...call, max }, query)),
    post: async (path, body, schema) => change(path, schema, call, { method: 'POST', body, secrets: [] }),
  }
}
