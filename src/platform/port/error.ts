// Declares the error for a failed request to the platform. Code branches on the error's kind.
import { Fault } from '../../lib/fault.ts'

/** The kind of a platform error. Code branches on it; people read the message. */
export type PlatformErrorKind =
  /** HTTP 401, or the token contains characters that a header cannot carry. */
  | 'unauthorized'
  /** HTTP 403: the token's scope or role is insufficient. */
  | 'forbidden'
  /** HTTP 404: the resource does not exist, or the token may not see it. */
  | 'not-found'
  /** HTTP 429 (rate limit), possibly after all retries. */
  | 'limited'
  /** Any other HTTP 4xx status. */
  | 'refused'
  /** Any HTTP 5xx status. */
  | 'unavailable'
  /** The connection could not be opened, or it broke. */
  | 'network'
  | 'timeout'
  /** A streamed response took longer than its total timeout. */
  | 'slow'
  /** The platform redirected to another host. Such a redirect is never followed. */
  | 'foreign-host'
  /** The response is a web page, or a redirect to one, so it does not come from the API. */
  | 'not-the-api'
  /** The response is invalid or truncated JSON. */
  | 'broken-answer'
  /** The response is JSON, but does not match the documented schema. */
  | 'unexpected-answer'
  | 'too-large'

export interface PlatformErrorFacts {
  readonly kind: PlatformErrorKind
  /** A sentence that describes the error. */
  readonly what: string
  readonly remedy: string
  readonly status?: number | undefined
  /** HTTP method and path of the request. The path is relative to the API's base and has no query. */
  readonly endpoint?: string | undefined
  /** The platform's message, truncated and with secrets redacted. */
  readonly detail?: string | undefined
  /** The machine-readable `error` in the response body, such as `insufficient_scope`. */
  readonly code?: string | undefined
  /** True if the API rejects every request to this endpoint, or has no such endpoint; false if the error concerns only the requested resource. */
  readonly affectsAllRequests?: boolean | undefined
  /** The keys in the response's JSON body. */
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

  /** True if the error is probably transient, so that a retry makes sense. */
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

/**
 * Rewrites a message for a platform that is configured under `platforms` in the YAML file, so that the message names that platform's YAML settings
 * instead of the environment variables for a single platform.
 */
export function inSettingsOf(platform: string, message: string): string {
  if (platform === 'default') return message
  return message.replace(/PIPESPAN_PLATFORM_([A-Z_]+[A-Z])/g, (_, name: string) => `\`${name.toLowerCase()}\``)
}
