// The circuit breaker of one export queue. It decides whether the queue may send now, and how much.
//
//                     a response trips it                    the pause is over
//   CLOSED (healthy) ────────────────────► OPEN (tripped) ────────────────────► HALF-OPEN (probing)
//      ▲                                      ▲                                    │         │
//      │                                      └──── the probe is rejected again: ──┘         │
//      │                                            the next pause is longer                 │
//      └────────────────────────────── the probe is accepted ────────────────────────────────┘
//
// CLOSED: full batches are sent, several at a time. Until the endpoint has accepted a request since the start, one small batch is sent at a time.
// OPEN: nothing is leased and nothing is sent. HALF-OPEN: one small batch is sent as a probe, and all other entries wait for the response. A response
// that trips the breaker makes no entry a dead letter: all entries stay in the outbox.
//
//   response                                       cause         pause
//   401, 403, after the token was read again       unauthorized  backoff up to 60 s; ends when the token changes
//   400, 413, 422 for every single item of a       unacceptable  backoff up to 60 s
//     batch, and nothing accepted since the start
//   no connection, timeout, 3xx, 404, 429, 5xx,    unavailable   Retry-After, else backoff up to 5 min
//     a web page, gRPC
//
// While the breaker is open, responses to earlier requests change nothing, except that their Retry-After counts. So ten requests that fail together
// count as one failure, and if one of them succeeds, the pause does not end.
import { backoff, type BackoffOptions } from '../../lib/backoff.ts'
import { sameSecret } from './sender.ts'
import { sentenceOf, type Verdict } from './verdict.ts'
import type { Bearer } from './destination.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Secret } from '../../lib/secret.ts'

export type CircuitState = 'closed' | 'open' | 'half-open'

export type TripCause = 'unauthorized' | 'unacceptable' | 'unavailable'

export type Failure = Exclude<Verdict, { as: 'delivered' }>

export interface CircuitBreakerOptions {
  readonly bearer?: Bearer | undefined
  /** The pauses between probes of an unavailable endpoint. */
  readonly pauses: BackoffOptions
  /** The pauses between probes of an endpoint that rejects the credentials or every request. */
  readonly probes: BackoffOptions
  readonly clock: Clock
  readonly log: Log
}

/** The interval in ms at which the token is read again while the endpoint rejects the credentials. */
const lookAgain = 500
/** The minimum pause, ms. It also applies after `Retry-After: 0`. */
const minPause = 100
/** The number of items in a probe, by the cause of the trip. If an endpoint rejected content, halving the batch may cost two requests per item. */
const probeItems = { unavailable: 8, unauthorized: 4, unacceptable: 4 }

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  /** The cause of the last trip; undefined while the circuit breaker is closed. */
  #cause: TripCause | undefined
  #hasAccepted = false
  /** The number of consecutive trips without a successful request. */
  #trips = 0
  /** When the circuit breaker left the closed state, and when its pause ends, both on the `elapsed` clock. */
  #since: Millis = 0
  #until: Millis = 0
  #refusedToken: Secret | undefined
  #tokenReadAt = -Infinity

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
  }

  get state(): CircuitState {
    if (this.#cause === undefined) return 'closed'
    return this.pause > 0 ? 'open' : 'half-open'
  }

  get cause(): TripCause | undefined {
    return this.#cause
  }

  /** When the next probe is due, on the `elapsed` clock; undefined while the circuit breaker is closed. */
  get nextTry(): Millis | undefined {
    return this.#cause === undefined ? undefined : this.#until
  }

  /** The remaining time of the pause, ms. */
  get pause(): number {
    return Math.max(0, this.#until - elapsed(this.#options.clock))
  }

  /** True if several batches may be sent concurrently. */
  get isProven(): boolean {
    return this.#hasAccepted && this.#cause === undefined
  }

  /** Returns how many items the next batch may contain; 0 while the circuit breaker is open. */
  async admit(): Promise<number> {
    if (this.state === 'open' && this.#cause === 'unauthorized') await this.#lookForToken()
    if (this.state === 'open') return 0
    return this.isProven ? Infinity : probeItems[this.#cause ?? 'unavailable']
  }

  /** Ends the pause, so that a probe comes next. Returns false if there was no pause. */
  tryNow(): boolean {
    const wasOpen = this.state === 'open'
    if (wasOpen) this.#until = elapsed(this.#options.clock)
    return wasOpen
  }

  accepted(): void {
    this.#hasAccepted = true
    if (this.state !== 'half-open') return
    const { clock, log } = this.#options
    this.#cause = undefined
    this.#trips = 0
    log.info({ after: elapsed(clock) - this.#since }, 'circuit breaker closed: exports resume')
  }

  /** Opens the circuit breaker. Returns the time in ms that the queue waits. `token` is the rejected token. */
  trip(cause: TripCause, failure: Failure, token?: Secret): number {
    const { clock, log, pauses, probes } = this.#options
    const { state } = this
    const before = this.#cause
    const now = elapsed(clock)
    const asked = 'retryAfterMs' in failure ? failure.retryAfterMs : undefined
    if (state === 'closed') this.#since = now
    if (cause === 'unauthorized') this.#refusedToken = token
    if (state !== 'open') {
      this.#trips += 1
      this.#cause = cause
    }
    if (state !== 'open' || asked !== undefined) {
      const pause = asked ?? backoff(this.#trips, cause === 'unavailable' ? pauses : probes)
      this.#until = Math.max(this.#until, now + Math.max(pause, minPause))
    }
    if (this.#cause !== before) {
      const { level, description } = tripped[cause]
      log[level]({ cause, reason: sentenceOf(failure) }, `circuit breaker open: ${description}`)
    }
    return this.pause
  }

  /** Reads the token again. A token that differs from the rejected one ends the pause. */
  async #lookForToken(): Promise<void> {
    const { bearer, clock } = this.#options
    if (bearer === undefined) return
    if (elapsed(clock) - this.#tokenReadAt >= lookAgain) {
      this.#tokenReadAt = elapsed(clock)
      await bearer.reload()
    }
    if (!sameSecret(bearer.current(), this.#refusedToken)) this.tryNow()
  }
}

const tripped = {
  unauthorized: {
    level: 'error',
    description:
      'the destination rejects the credentials; its exports stay pending, nothing is dropped. ' +
      'Configure a valid token (a changed token file is used at once) or correct the OTLP headers of the destination.',
  },
  unacceptable: {
    level: 'error',
    description:
      'the destination has refused every export since the start; its exports stay pending, nothing is dropped. ' +
      'Check that the endpoint is an OTLP/HTTP URL for this signal and that the backend accepts protobuf.',
  },
  unavailable: {
    level: 'warn',
    description: 'the backend does not accept exports at the moment; they stay pending in the store.',
  },
} as const
