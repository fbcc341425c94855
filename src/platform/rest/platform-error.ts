// The one error of the platform's API: what was asked, what the platform said, and what to do about it.
import { Fault } from '../../lib/fault.ts'

/** What went wrong, for those who decide by it; people read the message. */
export type PlatformErrorKind =
  /** 401, or a token that cannot be sent. */
  | 'unauthorized'
  /** 403: the token's scope or role does not suffice. */
  | 'forbidden'
  /** 404: not there, or not visible to the token. */
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
  /** A redirect or a next page at another host: never followed. */
  | 'foreign-host'
  /** A web page or a redirect to one: what answers is not the API. */
  | 'not-the-api'
  /** JSON that ends too early, or is none. */
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
  /** The API as a whole refuses, or has no such endpoint, whatever was asked for. */
  readonly isOfTheApi?: boolean | undefined
  /** The keys of the answer's JSON body. */
  readonly keys?: readonly string[] | undefined
}

/** The platform's API cannot be reached, refuses, or answers what is no answer. Never holds a token. */
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

  /** True for what is likely to pass by itself: worth trying again later. */
  get passing(): boolean {
    return passing.has(this.kind)
  }
}

const passing: ReadonlySet<PlatformErrorKind> = new Set([
  'limited',
  'unavailable',
  'network',
  'timeout',
  'broken-answer',
])
