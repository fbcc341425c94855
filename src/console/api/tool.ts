// What a program with a language model may ask: a route of the JSON API, with the part of its answer that a model needs. Arguments and answers are the
// shapes of the route.
import type { z } from 'zod'

export interface Tool {
  readonly name: string
  readonly title: string
  /** In plain English, with units: models choose a tool and its arguments by it. */
  readonly description: string
  /** The GET route of the JSON API that it asks. */
  readonly path: string
  /** Arguments that are not asked for. */
  readonly fixed?: Readonly<Record<string, unknown>>
  /** Arguments beside those of the route. */
  readonly more?: z.ZodRawShape
  /** The part of the route's answer that is returned: what it does not name is left out. Absent: all of it. */
  readonly answer?: z.ZodObject
  /** Turns the route's answer into one that `answer` fits, or into a sentence why there is none. */
  readonly select?: (found: never, asked: never) => object | string
  /** Rows of each list, unless `limit` is given. */
  readonly rows?: number
  /** Which rows of a list stay if there are too many; default: the first. */
  readonly keep?: 'last'
  /** Whether it asks the platform. */
  readonly asksPlatform?: boolean
}
