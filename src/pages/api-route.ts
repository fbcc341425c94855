// What a route of the JSON API is: how it is asked, what it answers, and what both look like.
import type { z } from 'zod'

export interface ApiRoute {
  readonly method: 'GET' | 'POST'
  /** Below `/api`; places as `:name`. */
  readonly path: string
  readonly says: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  readonly answer: z.ZodType
  /** Undefined: 404. Inputs have been checked against their shapes. */
  readonly handle: (input: ApiInput) => Promise<unknown>
}

export interface ApiInput {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
}
