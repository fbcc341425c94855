// The error of all requests to the platform's API, with a remedy.
import { Fault } from '../../lib/fault.ts'

/** What went wrong, for code; people read the message. */
export type PlatformErrorKind =
  /** 401, or a token that cannot be sent. */
  | 'unauthorized'
  /** 403: the token's scope or role is insufficient. */
  | 'forbidden'
  /** 404: does not exist, or is not visible to the token. */
  | 'not-found'
  /** 429, again and again. */
  | 'limited'
  /** Any other 4xx. */
  | 'refused'
  /** 5xx. */
  | 'unavailable'
  /** No connection, or one that broke. */
  | 'network'
  | 'timeout'
  /** A stream that trickles, or takes too long in all. */
  | 'slow'
  /** A redirect or a next page leads to another host, which is never followed. */
  | 'foreign-host'
  /** A web page, or a redirect to one, instead of the API. */
  | 'not-the-api'
  /** JSON that is cut short or invalid. */
  | 'broken-answer'
  /** JSON, but not of the documented shape. */
  | 'unexpected-answer'
  | 'too-large'

export interface PlatformErrorFacts {
  readonly kind: PlatformErrorKind
  /** The whole sentence of what is wrong. */
  readonly what: string
  readonly remedy: string
  readonly status?: number | undefined
  /** Method and path below the API's base, without the query. */
  readonly endpoint?: string | undefined
  /** The platform's own words, shortened and without secrets. */
  readonly said?: string | undefined
  /** The machine-readable `error` of the answer's body, e.g. `insufficient_scope`. */
  readonly code?: string | undefined
  /** The API refuses all such requests, or lacks the endpoint. */
  readonly isOfTheApi?: boolean | undefined
  /** The keys of the answer's JSON body. */
  readonly keys?: readonly string[] | undefined
}

/** Never contains a token. */
export class PlatformError extends Fault {
  readonly kind: PlatformErrorKind
  readonly status: number | undefined
  readonly endpoint: string | undefined
  readonly said: string | undefined
  readonly code: string | undefined
  readonly isOfTheApi: boolean
  readonly keys: readonly string[]

  constructor(facts: PlatformErrorFacts) {
    super(facts.what, facts.remedy)
    this.kind = facts.kind
    this.status = facts.status
    this.endpoint = facts.endpoint
    this.said = facts.said
    this.code = facts.code
    this.isOfTheApi = facts.isOfTheApi === true
    this.keys = facts.keys ?? []
  }

  /** True if it is probably temporary, so that a retry makes sense. */
  get passing(): boolean {
    return passing.has(this.kind)
  }
}

const passing: ReadonlySet<PlatformErrorKind> = new Set([
  'limited',
  'unavailable',
  'network',
  'timeout',
  'slow',
  'broken-answer',
])
