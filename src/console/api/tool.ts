// A tool for programs with a language model: a route of the JSON API, limited to the part of its answer that a model needs. The arguments and the
// answer have the shapes of the route.
import type { z } from 'zod'

export interface Tool {
  readonly name: string
  readonly title: string
  /** The tool's description in plain English, with units. Models read it to choose a tool and its arguments. */
  readonly description: string
  /** The GET route of the JSON API that the tool calls. */
  readonly path: string
  /** The arguments of the route that always have these values. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** The arguments of the tool that the route does not have. */
  readonly more?: z.ZodRawShape
  /** The shape of the part of the route's answer that the tool returns. All other fields are left out. If undefined, the whole answer is returned. */
  readonly answer?: z.ZodObject
  /** Turns the route's answer into one that fits `answer`, or into a sentence that explains why there is none. */
  readonly select?: (found: never, asked: never) => object | string
  /** Maximum number of rows in each list of the tool's answer, unless `limit` is given. */
  readonly rows?: number
  /** Which rows of a list are returned if there are too many. By default, these are the first ones. */
  readonly keep?: 'last'
  /** Whether the tool causes requests to the platform. */
  readonly asksPlatform?: boolean
}
