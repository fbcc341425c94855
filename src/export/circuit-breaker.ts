// The circuit breaker of one destination: which of its export queues may send now, and how much.
//
//                     an answer trips it                     the pause is over
//   CLOSED (healthy) ────────────────────► OPEN (tripped) ────────────────────► HALF-OPEN (probing)
//      ▲                                      ▲                                    │         │
//      │                                      └──── the probe is refused again: ───┘         │
//      │                                            the next pause is longer                 │
//      └────────────────────────────── the probe is accepted ────────────────────────────────┘
//
// CLOSED: full batches, several at a time; only until an endpoint has accepted something since the start, one small batch at a time.
// OPEN: nothing is leased and nothing is sent. HALF-OPEN: one small batch is sent, the probe, and everything else waits for its
// answer. Nothing becomes a dead letter for what trips the breaker: all of it stays in the outbox.
//
// The breaker has one circuit for the credentials, which belong to the destination, and one for each export queue, since each
// signal has its own endpoint. A queue sends if both allow it. What trips a circuit:
//
//   answer                                       cause         circuit      pause
//   401, 403, after the token was read again     unauthorized  credentials  back-off up to 60 s; ends when the token changes
//   400, 413, 422 for every single item of a     unacceptable  queue        back-off up to 60 s
//     batch, and nothing accepted since start
//   no connection, time-out, 3xx, 404, 429, 5xx, unavailable   queue        Retry-After, else back-off up to 5 min
//     a web page, gRPC
//
// The answer to a request that began before its circuit tripped is not news: ten requests that fail together are one failure, and
// one of them that succeeds does not end the pause. Only its Retry-After counts.
import { backoff, type BackoffOptions } from '../lib/backoff.ts'
import { sameSecret, tick } from './sender.ts'
import { sentenceOf, type Later, type Unacceptable, type Unauthorized } from './verdict.ts'
import type { Bearer } from './destination.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Secret } from '../lib/secret.ts'
import type { Signal } from '../store/ports/runs.ts'

export type CircuitState = 'closed' | 'open' | 'half-open'

/** What tripped a circuit: see the table above. */
export type TripCause = 'unauthorized' | 'unacceptable' | 'unavailable'

/** Permission to send a batch of at most `items`, or how long to wait before asking again. */
export type Admission =
  { readonly may: 'send' | 'probe'; readonly items: number } | { readonly may: 'wait'; readonly ms: number }

/** The circuit breaker as seen by one export queue of the destination. `began`: when the answered request began, by `tick`. */
export interface QueueBreaker {
  readonly state: CircuitState
  /** Undefined while it is closed. */
  readonly cause: TripCause | undefined
  /** When the next probe is due, by `elapsed`; undefined while it is closed. */
  readonly nextTry: Millis | undefined
  /** When it left the closed state, by `elapsed`; undefined while it is closed. */
  readonly trippedSince: Millis | undefined
  /** True once the destination has accepted anything since start. */
  readonly hasAccepted: boolean
  /** True when several batches may be under way at a time: it is closed, and this endpoint has accepted something. */
  readonly isProven: boolean
  /** Called before every lease. A caller that gets `probe` must call `probed` in the end. */
  admit(): Promise<Admission>
  /** The probe has ended, with any outcome. */
  probed(): void
  /** Ends its pause and that of the credentials, so that a probe comes next. False if there was none. */
  tryNow(): boolean
  /** Called before every request of an admitted batch. */
  maySend(isProbe: boolean): boolean
  accepted(began: number): void
  /** The backend accepted the credentials, although not the content. */
  authorized(began: number): void
  unauthorized(verdict: Unauthorized, token: Secret | undefined, began: number): void
  /**
   * Items of a batch were refused one by one. If the destination has accepted anything, they are dead letters; otherwise this answers how long they
   * wait, ms: longer than the pause, so that the next probe has other items.
   */
  unacceptable(verdict: Unacceptable, began: number): number
  /** Answers how long the queue waits, ms. */
  unavailable(verdict: Later, began: number): number
}

export interface CircuitBreakerOptions {
  readonly destination: string
  readonly bearer?: Bearer | undefined
  /** Pauses of a queue whose endpoint is not available. */
  readonly pauses: BackoffOptions
  /** Pauses between the probes of a destination that refuses the credentials, or everything. */
  readonly probes: BackoffOptions
  readonly clock: Clock
  readonly log: Log
  /** A circuit closed: queues may go on. */
  readonly onClosed: () => void
}

/** While the credentials are refused, the token is read again this often, ms. */
const lookAgain = 500
/** The pause even after `Retry-After: 0`, ms. */
const minPause = 100
/** Items of a probe after an outage. */
const smallBatch = 8
/** Items of a probe after content was refused: halving the batch may cost two requests for each item. */
const refusedBatch = 4

export function createCircuitBreaker(options: CircuitBreakerOptions): (signal: Signal) => QueueBreaker {
  const { destination, bearer, clock } = options
  const credentials = new Circuit({ destination }, options)
  let hasAccepted = false
  let refusedToken: Secret | undefined
  let tokenReadAt = -Infinity
  /** The circuit of the queue whose batch probes the credentials. */
  let prober: Circuit | undefined

  /** A token that differs from the refused one ends the pause. */
  async function lookForToken(): Promise<void> {
    if (bearer === undefined) return
    if (elapsed(clock) - tokenReadAt >= lookAgain) {
      tokenReadAt = elapsed(clock)
      await bearer.reload()
    }
    if (!sameSecret(bearer.current(), refusedToken)) credentials.endPause()
  }

  return signal => {
    const own = new Circuit({ destination, signal }, options)
    let hasOwnAccepted = false
    /** While the credentials are refused, the state of the endpoint is not known. */
    const decisive = (): Circuit => (credentials.state === 'closed' ? own : credentials)

    return {
      get state() {
        return decisive().state
      },
      get cause() {
        return decisive().cause
      },
      get nextTry() {
        return decisive().probeAt
      },
      get trippedSince() {
        return decisive().trippedSince
      },
      get hasAccepted() {
        return hasAccepted
      },
      get isProven() {
        return hasOwnAccepted && decisive().state === 'closed'
      },
      admit: async () => {
        if (credentials.state === 'open') await lookForToken()
        if (credentials.state === 'open') return { may: 'wait', ms: Math.min(credentials.pause, lookAgain) }
        if (own.state === 'open') return { may: 'wait', ms: own.pause }
        if (credentials.state === 'half-open') {
          if (prober !== undefined) return { may: 'wait', ms: lookAgain }
          prober = own
          return { may: 'probe', items: refusedBatch }
        }
        if (own.state === 'half-open') {
          return { may: 'probe', items: own.cause === 'unavailable' ? smallBatch : refusedBatch }
        }
        return { may: 'send', items: hasOwnAccepted ? Infinity : smallBatch }
      },
      probed: () => {
        if (prober === own) prober = undefined
      },
      tryNow: () => {
        const open = [credentials, own].filter(({ state }) => state === 'open')
        for (const circuit of open) circuit.endPause()
        return open.length > 0
      },
      maySend: isProbe => {
        if (credentials.state === 'open' || own.state === 'open') return false
        return isProbe || decisive().state === 'closed'
      },
      accepted: began => {
        hasAccepted = true
        hasOwnAccepted = true
        credentials.close(began)
        // A request that succeeded does not end a pause that Retry-After asks for.
        if (own.state === 'half-open') own.close(began)
      },
      authorized: began => credentials.close(began),
      unauthorized: (verdict, token, began) => {
        refusedToken = token
        credentials.trip('unauthorized', verdict, began)
      },
      unacceptable: (verdict, began) => {
        // A destination that has accepted anything has the right address; but a queue that has tripped goes on probing.
        if (!hasAccepted || own.cause === 'unacceptable') own.trip('unacceptable', verdict, began)
        return 2 * own.pause
      },
      unavailable: (verdict, began) => {
        // A probe that fails for another reason proves nothing about the credentials.
        if (credentials.state === 'half-open') credentials.trip('unauthorized', { message: verdict.message }, began)
        own.trip('unavailable', verdict, began)
        return own.pause
      },
    }
  }
}

type Failure = Pick<Later, 'message' | 'status' | 'retryAfterMs'>

/** One circuit: its state, and how long it stays open. */
class Circuit {
  /** Undefined while it is closed. */
  cause: TripCause | undefined
  readonly #facts: object
  readonly #options: CircuitBreakerOptions
  /** Trips in a row, without success. */
  #trips = 0
  /** When it tripped last, by `tick`. */
  #trippedAt = 0
  /** When it left the closed state, and the end of the pause, by `elapsed`. */
  #since: Millis = 0
  #until: Millis = 0

  /** `facts`: whose circuit it is, for the log. */
  constructor(facts: object, options: CircuitBreakerOptions) {
    this.#facts = facts
    this.#options = options
  }

  get state(): CircuitState {
    if (this.cause === undefined) return 'closed'
    return this.pause > 0 ? 'open' : 'half-open'
  }

  get probeAt(): Millis | undefined {
    return this.cause === undefined ? undefined : this.#until
  }

  get trippedSince(): Millis | undefined {
    return this.cause === undefined ? undefined : this.#since
  }

  /** What is left of the pause, ms. */
  get pause(): number {
    return Math.max(0, this.#until - elapsed(this.#options.clock))
  }

  endPause(): void {
    this.#until = Math.min(this.#until, elapsed(this.#options.clock))
  }

  trip(cause: TripCause, failure: Failure, began: number): void {
    const { clock, log, pauses, probes } = this.#options
    const { cause: before } = this
    const now = elapsed(clock)
    const isNews = before === undefined || began > this.#trippedAt
    if (!isNews && failure.retryAfterMs === undefined) return
    if (before === undefined) this.#since = now
    if (isNews) {
      this.#trips += 1
      this.#trippedAt = tick()
      // If everything was refused, a temporary outage does not change what the operator has to fix.
      if (before !== 'unacceptable') this.cause = cause
    }
    const pause = failure.retryAfterMs ?? backoff(this.#trips, cause === 'unavailable' ? pauses : probes)
    this.#until = Math.max(this.#until, now + Math.max(pause, minPause))
    if (this.cause === before) return
    const { level, description } = tripped[cause]
    log[level]({ ...this.#facts, cause, reason: sentenceOf(failure) }, `circuit breaker open: ${description}`)
  }

  close(began: number): void {
    if (this.cause === undefined || began < this.#trippedAt) return
    const { clock, log, onClosed } = this.#options
    this.cause = undefined
    this.#trips = 0
    this.#until = 0
    log.info({ ...this.#facts, after: elapsed(clock) - this.#since }, 'circuit breaker closed: exports resume')
    onClosed()
  }
}

const tripped = {
  unauthorized: {
    level: 'error',
    description:
      'the destination rejects the credentials; its exports stay pending, nothing is dropped. ' +
      'Configure a valid token (a changed token file is used at once) or correct its OTLP headers.',
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
