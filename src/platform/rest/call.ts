// What every request to the platform is made with: its rules, and what its caller says of it.
import type { BackoffOptions } from '../../lib/backoff.ts'
import type { Budget, Priority } from './budget.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Dispatcher } from 'undici'
import type { ExchangeLimits } from './exchange.ts'
import type { Log } from '../../lib/log.ts'
import type { TokenType } from './credentials.ts'

export interface RetryRules extends BackoffOptions {
  /** Sends of one request that may fail for the network or a 5xx. */
  readonly tries: number
  /** Sends of one request that may end in a 429. */
  readonly refusals: number
}

export interface RequesterOptions {
  readonly dispatcher: Dispatcher
  /** Asked for every request: the file that holds it may change. */
  readonly token: () => string | undefined
  readonly tokenType: TokenType
  readonly userAgent: string
  readonly budget: Budget
  /** Requests of one priority that are under way at once. */
  readonly concurrency: number
  readonly limits: ExchangeLimits
  readonly retry: RetryRules
  /** Path of the API's base, which errors leave out of the endpoint. */
  readonly basePath: string
  /** Called for every answer 401: the token is missing, expired or revoked. */
  readonly onUnauthorized?: (() => void) | undefined
  readonly clock: Clock
  readonly log: Log
}

export interface CallOptions {
  readonly priority: Priority
  /** Ends waiting and sending; the call then rejects with its reason. */
  readonly signal?: AbortSignal | undefined
  /** Called whenever the budget has let the request pass: a deadline for the platform's answer starts here, not before. */
  readonly onSend?: (() => void) | undefined
}
