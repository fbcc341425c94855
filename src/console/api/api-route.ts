// A JSON API route: its inputs, its response, and the shapes of both.
import { z } from 'zod'
import type { Admitted } from '../access/access.ts'
import type { Ids } from '../layout/address.ts'
import { wholeNumber } from './api-queries.ts'

export interface ApiRoute {
  readonly method: 'GET' | 'POST'
  /** The route's path below `/api`, with parameters written as `:name`. */
  readonly path: string
  readonly description: string
  readonly params?: z.ZodObject | undefined
  readonly query?: z.ZodObject | undefined
  readonly body?: z.ZodType | undefined
  readonly answer: z.ZodType
  /**
   * Handles a request. It receives the parsed path and query parameters together, or the parsed body. If it returns undefined, the response is 404;
   * if it returns `NotShown`, the response is 404 with the reason.
   */
  readonly handle: (asked: never, by: Admitted) => Promise<unknown>
  /** Whether the action affects all projects rather than individual ones. */
  readonly isOfAll?: boolean
}

export function get<Path extends string, Query extends z.ZodObject | undefined = undefined>(
  path: Path,
  description: string,
  { query, answer }: { readonly query?: Query; readonly answer: z.ZodType },
  handle: (asked: Ids<Path> & (Query extends z.ZodObject ? z.output<Query> : unknown)) => Promise<unknown>,
): ApiRoute {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const params = names.length === 0 ? undefined : z.object(Object.fromEntries(names.map(name => [name, idOf(name)])))
  return { method: 'GET', path, description, params, query, answer, handle }
}

/** Returns the schema of an ID parameter. The name determines the kind of ID: `jobId` is a job's ID. */
function idOf(name: string): z.ZodType {
  const of = name.replace(/Id$/, '').replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
  return wholeNumber.describe(`ID of the ${of}.`)
}

export function post<Body extends z.ZodType>(
  path: string,
  description: string,
  { body, answer, isOfAll }: { readonly body: Body; readonly answer: z.ZodType; readonly isOfAll?: boolean },
  handle: (body: z.output<Body>, by: Admitted) => Promise<unknown>,
): ApiRoute {
  return { method: 'POST', path, description, body, answer, handle, ...(isOfAll !== undefined && { isOfAll }) }
}
