// A route of the JSON API: its inputs, its answer, and the shapes of both.
import type { z } from 'zod'

export interface ApiRoute {
  readonly method: 'GET' | 'POST'
  /** Below `/api`, with parameters as `:name`. */
  readonly path: string
  readonly says: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly answer: z.ZodType
  /** Undefined becomes 404, `NotShown` too, with its reason. The inputs match their shapes. */
  readonly handle: (input: ApiInput) => Promise<unknown>
}

export interface ApiInput {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
}
