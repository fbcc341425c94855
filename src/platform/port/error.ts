// An error of a request to the platform, of a kind on which code decides.
import { Fault } from '../../lib/fault.ts'

/** The kind of an error, on which code decides. People read the message. */
export type PlatformErrorKind =
  /** 401, or a token that cannot be sent. */
  | 'unauthorized'
  /** 403: the token's scope or role is insufficient. */
  | 'forbidden'
  /** 404: the thing does not exist, or the token may not see it. */
  | 'not-found'
  /** 429, also after all retries. */
  | 'limited'
  /** Any other 4xx. */
  | 'refused'
  /** 5xx. */
  | 'unavailable'
  /** The connection failed or broke. */
  | 'network'
  | 'timeout'
  /** A stream that takes too long in total. */
  | 'slow'
  /** A redirect leads to another host. Such a link is never followed. */
  | 'foreign-host'
  /** The answer is a web page, or a redirect to one, and not from the API. */
  | 'not-the-api'
  /** The answer is invalid JSON or was cut off. */
  | 'broken-answer'
  /** The answer is JSON, but not of the documented shape. */
  | 'unexpected-answer'
  | 'too-large'

export interface PlatformErrorFacts {
  readonly kind: PlatformErrorKind
  /** A sentence that says what is wrong. */
  readonly what: string
  readonly remedy: string
  readonly status?: number | undefined
  /** Method, and path below the API's base without the query. */
  readonly endpoint?: string | undefined
  /** The platform's message, shortened and without secrets. */
  readonly detail?: string | undefined
  /** The machine-readable `error` in the answer's body, such as `insufficient_scope`. */
  readonly code?: string | undefined
  /** True if the API refuses every request to this endpoint or lacks it, and not only for one thing. */
  readonly affectsAllRequests?: boolean | undefined
  /** The keys in the answer's JSON body. */
  readonly keys?: readonly string[] | undefined
}

/** An error of a request to the platform. Its message never contains a token. */
export class PlatformError extends Fault {
  readonly kind: PlatformErrorKind
  readonly status: number | undefined
  readonly endpoint: string | undefined
  readonly detail: string | undefined
  readonly code: string | undefined
  readonly affectsAllRequests: boolean
  readonly keys: readonly string[]

  constructor(facts: PlatformErrorFacts) {
    super(facts.what, facts.remedy)
    this.kind = facts.kind
    this.status = facts.status
    this.endpoint = facts.endpoint
    this.detail = facts.detail
    this.code = facts.code
    this.affectsAllRequests = facts.affectsAllRequests === true
    this.keys = facts.keys ?? []
  }

  /** True if the error is probably temporary, so that a retry makes sense. */
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

/** Rewrites a message for one of `platforms` in the YAML file, because the variables of the single form are not the settings of these platforms. */
export function inSettingsOf(platform: string, message: string): string {
  if (platform === 'default') return message
  return message.replace(/PIPESPAN_PLATFORM_([A-Z_]+[A-Z])/g, (_, name: string) => `\`${name.toLowerCase()}\``)
}
