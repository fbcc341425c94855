// A tool for programs that use a language model: a JSON API route, reduced to the part of its response that a model needs. The arguments and the
// result have the shapes of the route.
import type { z } from 'zod'

export interface Tool {
  readonly name: string
  readonly title: string
  /** The tool's description in plain English, including units. Models read it to choose a tool and its arguments. */
  readonly description: string
  /** The JSON API's GET route that the tool calls. */
  readonly path: string
  /** Arguments with fixed values, which the tool always passes to the route. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** Arguments that only the tool has, not the route. */
  readonly more?: z.ZodRawShape
  /**
   * The shape of the part of the route's response that the tool returns. All other fields are dropped. If undefined, the tool returns the whole
   * response.
   */
  readonly answer?: z.ZodObject
  /** Converts the route's response into one with the shape `answer`, or into a sentence that explains why there is none. */
  readonly select?: (found: never, asked: never) => object | string
  /** The maximum number of rows in each list that the tool returns, unless `limit` is given. */
  readonly rows?: number
  /** Which rows to return if a list has too many. By default, the first rows are returned. */
  readonly keep?: 'last'
  /** Whether the tool sends requests to the platform. */
  readonly asksPlatform?: boolean
}
