// A tool for programs with a language model: a route of the JSON API, with the part of its answer that a model needs. Arguments and answers have the
// shapes of the route.
import type { z } from 'zod'

export interface Tool {
  readonly name: string
  readonly title: string
  /** In plain English, with units: models read it to choose a tool and its arguments. */
  readonly description: string
  /** The GET route of the JSON API that the tool calls. */
  readonly path: string
  /** Arguments of the route that always have these values. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** Arguments in addition to those of the route. */
  readonly more?: z.ZodRawShape
  /** The part of the route's answer that is returned; all other fields are left out. Absent: the whole answer. */
  readonly answer?: z.ZodObject
  /** Turns the route's answer into one that fits `answer`, or into a sentence that says why there is none. */
  readonly select?: (found: never, asked: never) => object | string
  /** Maximum number of rows of each list, unless `limit` is given. */
  readonly rows?: number
  /** Which rows of a list are kept if there are too many; default: the first. */
  readonly keep?: 'last'
  /** Whether the tool causes requests to the platform. */
  readonly asksPlatform?: boolean
}
