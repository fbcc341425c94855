// One flush's way to one destination: packed into requests, divided where the backend refuses, given up until the next flush
// where it fails.
import { sentenceOf } from './verdict.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Ledger } from './ledger.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Sender, Sent } from './sender.ts'
import type { TripCause } from './circuit-breaker.ts'

/** A destination's metrics, and what is known of it. */
export interface Target {
  readonly name: string
  readonly isCumulative: boolean
  readonly sender: Sender
  readonly ledger: Ledger
  /** Why the last flush did not arrive whole, named as the circuit breaker names it; undefined when it did, and before the first. */
  cause: TripCause | undefined
  hasAccepted: boolean
  /** Not before: what the backend asked for. */
  nextTry: Millis
}

/** One project's metrics. */
export interface Piece {
  readonly project: string
  readonly bytes: Uint8Array
}

/** Bytes of one request before compression. */
const batchBytes = 4 * 1024 * 1024
/** So many refused projects in one flush, and the rest waits for the next one. */
const mostRefused = 16

export class MetricDelivery {
  readonly #target: Target
  readonly #clock: Clock
  readonly #log: Log
  #refused = 0

  constructor(target: Target, clock: Clock, log: Log) {
    this.#target = target
    this.#clock = clock
    this.#log = log
  }

  /** False: this flush ends here; the next one has all of it. */
  async send(pieces: readonly Piece[]): Promise<boolean> {
    let pack: Piece[] = []
    let size = 0
    for (const piece of pieces) {
      if (pack.length > 0 && size + piece.bytes.length > batchBytes) {
        if (!(await this.#deliver(pack))) return false
        pack = []
        size = 0
      }
      pack.push(piece)
      size += piece.bytes.length
    }
    return pack.length === 0 || this.#deliver(pack)
  }

  async #deliver(pieces: readonly Piece[]): Promise<boolean> {
    const body = Buffer.concat(pieces.map(({ bytes }) => bytes))
    const { sender, ledger } = this.#target
    const sent = await sender.send(body)
    ledger.answered(sent, pieces.length, body.length)
    switch (sent.verdict.as) {
      case 'delivered':
        ledger.count('delivered', pieces.length)
        this.#target.hasAccepted = true
        if (this.#refused === 0) this.#become(undefined, sent)
        return true
      case 'unacceptable':
        return this.#divide(pieces, sent)
      case 'unauthorized':
        this.#become('unauthorized', sent)
        return false
      case 'later':
        ledger.count('later', pieces.length)
        this.#target.nextTry = elapsed(this.#clock) + (sent.verdict.retryAfterMs ?? 0)
        this.#become('unavailable', sent)
        return false
    }
  }

  /** One project that is refused holds up no other; a destination that refuses everything is not asked for each. */
  async #divide(pieces: readonly Piece[], sent: Sent): Promise<boolean> {
    const [only, ...others] = pieces
    if (only !== undefined && others.length === 0) {
      this.#refused += 1
      this.#target.ledger.count('later', 1)
      this.#become('unacceptable', sent, only.project)
      return this.#target.hasAccepted && this.#refused < mostRefused
    }
    const middle = Math.ceil(pieces.length / 2)
    return (await this.#deliver(pieces.slice(0, middle))) && (await this.#deliver(pieces.slice(middle)))
  }

  #become(cause: TripCause | undefined, { verdict }: Sent, project?: string): void {
    const target = this.#target
    if (cause === target.cause) return
    target.cause = cause
    const facts = { destination: target.name, signal: 'metrics' }
    if (cause !== undefined) {
      const reason = sentenceOf({
        words: verdict.words ?? '',
        ...('status' in verdict ? { status: verdict.status } : {}),
      })
      this.#log.warn(
        { ...facts, project, cause, reason },
        'metrics do not arrive: the totals stay in the store, the next flush has them',
      )
    } else this.#log.info(facts, 'metrics flow again')
  }
}
