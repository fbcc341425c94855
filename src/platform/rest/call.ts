// Declares the options of all requests to the platform.
import type { BackoffOptions } from '../../lib/backoff.ts'
import type { Budget } from '../port/budget.ts'
import type { CallOptions } from '../port.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ClockOffset } from './clock-offset.ts'
import type { Dispatcher } from 'undici'
import type { Log } from '../../lib/log.ts'
import type { StreamPace } from './stream.ts'
import type { TokenType } from './credentials.ts'

export interface RetryRules extends BackoffOptions {
  /** Maximum number of attempts of one request that fail with a network error or a 5xx. */
  readonly tries: number
  /** Maximum number of attempts of one request that fail with a 429. */
  readonly refusals: number
}

export interface RequesterOptions {
  readonly dispatcher: Dispatcher
  /** Called for every request, because the token's file may change. If it answers undefined, the request has no token. */
  readonly token: () => string | undefined
  readonly tokenType: TokenType
  readonly userAgent: string
  readonly budget: Budget
  /** Maximum number of concurrent requests of one priority. */
  readonly concurrency: number
  /** Timeout from the first byte sent to the last one received, ms, and maximum size of a body, bytes. */
  readonly limits: { readonly answerMs: number; readonly maxBytes: number }
  /** Minimum speed of a stream; default `streamPace`. */
  readonly pace?: StreamPace | undefined
  readonly retry: RetryRules
  /** The path of the API's base, which error messages omit. */
  readonly basePath: string
  /** Called on every 401: the token is missing, expired or revoked. */
  readonly onUnauthorized?: (() => void) | undefined
  /** Called on every answer that is no error. */
  readonly onAnswer?: (() => void) | undefined
  /** Observes the `Date` of every answer that is no error. */
  readonly clockOffset?: ClockOffset | undefined
  readonly clock: Clock
  readonly log: Log
}

export interface StreamOptions extends CallOptions {
  /** Headers in addition to those of all requests. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}
