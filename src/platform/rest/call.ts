// The options of all requests to the platform.
import type { BackoffOptions } from '../../lib/backoff.ts'
import type { Budget } from '../port/budget.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Dispatcher } from 'undici'
import type { ExchangeLimits } from './exchange.ts'
import type { Log } from '../../lib/log.ts'
import type { StreamPace } from './stream.ts'
import type { TokenType } from './credentials.ts'

export interface RetryRules extends BackoffOptions {
  /** Tries of one request that may fail with a network error or a 5xx. */
  readonly tries: number
  /** Tries of one request that may fail with a 429. */
  readonly refusals: number
}

export interface RequesterOptions {
  readonly dispatcher: Dispatcher
  /** Called for every request, as the file that holds it may change. */
  readonly token: () => string | undefined
  readonly tokenType: TokenType
  readonly userAgent: string
  readonly budget: Budget
  /** Requests of one priority that are under way at once. */
  readonly concurrency: number
  readonly limits: ExchangeLimits
  /** How slow a stream may be; default: `streamPace`. */
  readonly pace?: StreamPace | undefined
  readonly retry: RetryRules
  /** Path of the API's base, which error messages omit. */
  readonly basePath: string
  /** Called for every answer 401: the token is missing, expired or revoked. */
  readonly onUnauthorized?: (() => void) | undefined
  readonly clock: Clock
  readonly log: Log
}
