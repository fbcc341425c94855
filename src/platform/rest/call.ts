// Declares the options of all requests to the platform.
import type { BackoffOptions } from '../../lib/backoff.ts'
import type { Budget } from '../port/budget.ts'
import { PlatformError, type CallOptions } from '../port.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Dispatcher } from 'undici'
import type { Log } from '../../lib/log.ts'
import type { StreamPace } from './stream.ts'
import type { Millis } from '../../model/instant.ts'

// Makes the header for each type of token (REST document, "Authentication").

/** `private`: a personal, project or group access token. `bearer`: an OAuth token. `job`: a CI/CD job token. */
type TokenType = 'private' | 'bearer' | 'job'

/** The characters of a header's value except blanks (RFC 9110, 5.5). */
const sendable = /^[\x21-\x7e]+$/

/** The header for a token, or no header without a token. Throws a PlatformError if no header can carry the token. */
export function credentialHeaders(type: TokenType, token: string | undefined): Record<string, string> {
  if (token === undefined) return {}
  if (!sendable.test(token)) {
    throw new PlatformError({
      kind: 'unauthorized',
      what: 'The platform token contains blanks, line breaks or characters that no HTTP header can carry.',
      remedy: 'Check PIPESPAN_PLATFORM_TOKEN or its file: it must contain only the token.',
    })
  }
  switch (type) {
    case 'private':
      return { 'private-token': token }
    case 'bearer':
      return { authorization: `Bearer ${token}` }
    case 'job':
      return { 'job-token': token }
  }
}

/** The token without surrounding blanks and line breaks; undefined if nothing is left. */
export function trimToken(token: string | undefined): string | undefined {
  const trimmed = token?.trim()
  return trimmed === undefined || trimmed === '' ? undefined : trimmed
}

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

// How far the platform's clock is ahead of ours, from the `Date` header of its answers.
interface ClockOffset {
  /** ms, negative if the platform's clock is behind ours; undefined until the platform has answered with its time. */
  readonly current: () => number | undefined
  /** `servedAt`: the answer's `Date`, on the platform's clock. `sentAt` and `receivedAt`: of the request and its answer, on ours. */
  readonly observe: (servedAt: Millis | undefined, sentAt: Millis, receivedAt: Millis) => void
}

/**
 * `Date` has whole seconds, and the platform wrote it between `sentAt` and `receivedAt`. So each answer proves an interval of offsets. The
 * offset moves only if it is outside the interval, and then by as little as possible: clocks that agree have the offset 0, and elapsed times
 * do not jitter with the latency of answers.
 */
export function createClockOffset(): ClockOffset {
  let offset: number | undefined
  return {
    current: () => offset,
    observe: (servedAt, sentAt, receivedAt) => {
      if (servedAt === undefined) return
      const [min, max] = [servedAt - receivedAt, servedAt + 999 - sentAt]
      offset = Math.min(Math.max(offset ?? 0, min), Math.max(min, max))
    },
  }
}
