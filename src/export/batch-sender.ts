// Sends one leased batch: its entries are encoded, packed into requests, sent, and settled by the verdict of each answer.
//
// An entry whose requests failed five times with a 5xx or an unknown outcome is a suspect: it is sent alone, after the others, and has a back-off of
// its own. A request that is refused for its content is halved until the refused entries stand alone: of eight entries with one that is refused, that
// takes seven requests. If a batch ends early (a failure, refused credentials, the end of the lease), the rest is returned unsent.
import { backoff, type BackoffOptions } from '../lib/backoff.ts'
import { blames, sentenceOf, type Later, type Unacceptable } from './verdict.ts'
import { joined, packed, type Encode, type EncodedItem } from './encoded-item.ts'
import type { EncodeNoted } from './encode-noted.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import { giveBack } from '../lib/give-back.ts'
import { StoreError } from '../lib/fault.ts'
import { subjectOf } from '../model/route.ts'
import type { OutboxEntry, OutboxLease, Outbox, Settlement } from '../store/ports/outbox.ts'
import type { QueueBreaker } from './circuit-breaker.ts'
import type { ExportStats } from './export-stats.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Destination } from './destination.ts'
import type { Sender } from './sender.ts'

/** What all batches of an export queue share. */
export interface BatchContext {
  readonly outbox: Pick<Outbox, 'settle'>
  readonly encode: Encode
  readonly encodeNoted: EncodeNoted
  readonly sender: Pick<Sender, 'send'>
  /** As of the destination. */
  readonly headerValues: Destination['headerValues']
  readonly takes: Destination['takes']
  readonly breaker: QueueBreaker
  readonly stats: ExportStats
  /** Bytes of one request before compression; a single larger entry is still sent, alone. */
  readonly batchBytes: number
  /** Pauses of a suspect. */
  readonly pauses: BackoffOptions
  /** The maximum duration of a send, ms. */
  readonly maxSend: number
  /** Called when the store fails to settle: the queue leases nothing until the returned function is called. */
  readonly pauseLeasing: () => () => void
  /** The queue stops: no other request begins. */
  readonly isStopping: () => boolean
  readonly clock: Clock
  readonly log: Log
}

export interface LeasedBatch {
  readonly lease: OutboxLease
  /** Until then the entries belong to this process, by `elapsed`. */
  readonly leaseEnd: Millis
  /** The same by the time of day: while a machine sleeps, `elapsed` stands still and the database's clock goes on. */
  readonly leaseEndOfDay: Millis
  /** Admitted by a half-open circuit breaker. */
  readonly isProbe: boolean
}

/** After this many tries an entry is a suspect. */
const suspectAfter = 5
/** If this many suspects in a row fail, the backend is to blame rather than the suspects. */
const maxFailedSuspects = 3
/** The reason of a dead letter that no backend has seen. */
const damage = 'the stored data is damaged: nothing can be sent'

/** The same where the configuration has changed since it was queued. */
const valueless = 'a template of the destination’s headers has no value for its project'

/** The same where the destination no longer takes its project. */
const foreign = 'not sent: the destination no longer takes this project (`projects`)'

/** The minimum of tries of a settlement, even if the lease expires meanwhile. */
const minTries = 3

export class BatchSender {
  readonly #context: BatchContext
  readonly #batch: LeasedBatch
  /** Ids that are not settled yet. */
  readonly #unsettled: Set<number>
  readonly #refused: { entry: OutboxEntry; verdict: Unacceptable; began: number }[] = []
  #failedSuspects = 0
  #lost = false

  constructor(context: BatchContext, batch: LeasedBatch) {
    this.#context = context
    this.#batch = batch
    const { items, damaged } = batch.lease
    this.#unsettled = new Set([...items, ...damaged].map(({ id }) => id))
  }

  /** Resolves when every entry is settled. Rejects when the store does not take the settlements while the lease lasts. */
  async run(): Promise<void> {
    const { items, damaged } = this.#batch.lease
    await this.#settle(damaged.map(({ id }) => ({ id, as: 'rejected', status: 0, error: damage })))
    const arrived =
      (await this.#deliverPacked(items.filter(({ tries }) => tries < suspectAfter))) &&
      (await this.#deliverSuspects(items.filter(({ tries }) => tries >= suspectAfter)))
    await this.#settleRefused(arrived)
    await this.#settle([...this.#unsettled].map(id => ({ id, as: 'unsent' })))
  }

  /** False, here and below: the batch ends here. */
  async #deliverPacked(entries: readonly OutboxEntry[]): Promise<boolean> {
    for (const pack of packed(await this.#encoded(entries), this.#context.batchBytes)) {
      if (!(await this.#deliver(pack))) return false
    }
    return true
  }

  async #deliverSuspects(entries: readonly OutboxEntry[]): Promise<boolean> {
    for (const item of await this.#encoded(entries)) if (!(await this.#deliver([item], true))) return false
    return true
  }

  /**
   * An entry that cannot be encoded becomes a dead letter, and so does one that its destination no longer takes; one without data for this signal is
   * done.
   */
  async #encoded(entries: readonly OutboxEntry[]): Promise<readonly EncodedItem[]> {
    const { encode, encodeNoted, headerValues, takes } = this.#context
    const items: EncodedItem[] = []
    for (const found of await encodeNoted(entries, encode)) {
      const { entry } = found
      const subject = subjectOf(entry.chunk)
      const values = headerValues?.(subject, entry.chunk)
      if ('reason' in found) await this.#reject(entry, 0, found.reason)
      else if (found.bytes.length === 0) await this.#settle([{ id: entry.id, as: 'delivered' }])
      else if (headerValues !== undefined && values === undefined) await this.#reject(entry, 0, valueless)
      else if (takes?.(subject) === false) await this.#reject(entry, 0, foreign)
      else items.push(values === undefined ? found : { ...found, values })
    }
    return items
  }

  async #deliver(items: readonly EncodedItem[], alone = false): Promise<boolean> {
    if (!this.#mayGoOn()) return false
    const { encode, sender, breaker, stats } = this.#context
    const body = joined(items, encode)
    const { length } = body
    const sent = await sender.send(body, items[0]?.values)
    stats.answered(sent, items.length, length)
    const { verdict, began } = sent
    switch (verdict.as) {
      case 'delivered':
        breaker.accepted(began)
        this.#failedSuspects = 0
        // A single item is the body itself, which a socket may still use: a backend may answer before it has read everything.
        if (items.length > 1) for (const { bytes } of items) giveBack(bytes)
        await this.#settle(items.map(({ entry: { id } }) => ({ id, as: 'delivered' })))
        return true
      case 'unauthorized':
        breaker.unauthorized(verdict, sent.token, began)
        await this.#putOff(items, 0, sentenceOf(verdict), false)
        return false
      case 'unacceptable':
        breaker.authorized(began)
        return this.#divide(items, verdict, began)
      case 'later':
        return this.#fail(items, verdict, began, alone)
    }
  }

  async #divide(items: readonly EncodedItem[], verdict: Unacceptable, began: number): Promise<boolean> {
    const [only, ...others] = items
    if (only !== undefined && others.length === 0) {
      this.#refused.push({ entry: only.entry, verdict, began })
      return true
    }
    const middle = Math.ceil(items.length / 2)
    return (await this.#deliver(items.slice(0, middle))) && (await this.#deliver(items.slice(middle)))
  }

  async #fail(items: readonly EncodedItem[], verdict: Later, began: number, alone: boolean): Promise<boolean> {
    const { breaker, pauses, log } = this.#context
    const [suspect] = items
    if (!alone || suspect === undefined || !blames(verdict)) {
      await this.#putOff(items, breaker.unavailable(verdict, began), sentenceOf(verdict), blames(verdict))
      return false
    }
    // Retry-After is meant for all; without it only several suspects in a row stop the queue.
    this.#failedSuspects += 1
    const stops = this.#failedSuspects >= maxFailedSuspects || verdict.retryAfterMs !== undefined
    const queuePause = stops ? breaker.unavailable(verdict, began) : 0
    const { id, tries, chunk } = suspect.entry
    const pause = Math.max(queuePause, backoff(tries - suspectAfter + 1, pauses))
    if (tries === suspectAfter) {
      log.warn(
        { export: id, ...chunk.key, reason: sentenceOf(verdict) },
        'an export keeps failing; from now on it is sent in a request of its own',
      )
    }
    await this.#putOff(items, pause, sentenceOf(verdict), true)
    return !stops
  }

  /** Refused singles are dead letters, unless this destination has accepted nothing yet: then they wait with all others. */
  async #settleRefused(arrived: boolean): Promise<void> {
    const [first] = this.#refused
    if (first === undefined) return
    const { breaker } = this.#context
    const forMs = arrived ? breaker.unacceptable(first.verdict, first.began) : 0
    if (breaker.hasAccepted) {
      for (const { entry, verdict } of this.#refused) await this.#reject(entry, verdict.status, verdict.message)
      return
    }
    await this.#settle(
      this.#refused.map(({ entry: { id }, verdict }) => {
        return { id, as: 'later', forMs, error: sentenceOf(verdict), counted: false }
      }),
    )
  }

  #mayGoOn(): boolean {
    const { breaker, clock, maxSend, isStopping } = this.#context
    const { leaseEnd, leaseEndOfDay, isProbe } = this.#batch
    const now = elapsed(clock)
    if (this.#lost || isStopping()) return false
    if (now + maxSend > leaseEnd || clock.now() + maxSend > leaseEndOfDay) return false
    return breaker.maySend(isProbe)
  }

  /** Another replica has the entries by now, and this one may neither send nor settle any of them. */
  #lose(lost: number): void {
    this.#lost = true
    this.#context.log.warn(
      { lost },
      'export results came too late: their lease had expired, and another replica has taken over',
    )
  }

  async #reject(entry: OutboxEntry, status: number, error: string): Promise<void> {
    const lost = await this.#settle([{ id: entry.id, as: 'rejected', status, error }])
    // Logged after it is stored, so that a reader of the log finds it in the list.
    if (lost > 0) return
    this.#context.log.error(
      { export: entry.id, ...entry.chunk.key, status, reason: error },
      'an export was refused; it is now a dead letter',
    )
  }

  async #putOff(items: readonly EncodedItem[], forMs: number, error: string, counted: boolean): Promise<void> {
    await this.#settle(items.map(({ entry: { id } }) => ({ id, as: 'later', forMs, error, counted })))
  }

  /**
   * Retries while the lease lasts, and while the store does not answer: a delivered entry that is not settled would be sent twice. All
   * settlements are of one kind. Returns how many another replica has taken over.
   */
  async #settle(settlements: readonly Settlement[]): Promise<number> {
    const [first] = settlements
    if (first === undefined) return 0
    const { outbox, stats, clock, pauseLeasing, isStopping } = this.#context
    const { lease, leaseEnd } = this.#batch
    let resumeLeasing: (() => void) | undefined
    for (const { id } of settlements) this.#unsettled.delete(id)
    for (let tries = 1; ; tries += 1) {
      try {
        const { lost } = await outbox.settle(lease.token, settlements)
        resumeLeasing?.()
        stats.count('lost', lost)
        if (lost > 0) this.#lose(lost)
        if (first.as !== 'unsent') stats.count(first.as, settlements.length - lost)
        return lost
      } catch (error) {
        resumeLeasing ??= pauseLeasing()
        const isOver = elapsed(clock) >= leaseEnd && tries >= minTries
        if (isOver && (isStopping() || !(error instanceof StoreError))) {
          resumeLeasing()
          throw error
        }
        await clock.sleep(backoff(tries, { first: 100, max: 2_000 }))
      }
    }
  }
}
