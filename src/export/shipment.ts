// One lease's way: encoded, packed into requests, sent, divided where the backend refuses, settled by verdict.
//
// Items that were sent again five times for a 5xx or an unknown outcome are suspects: they travel alone, after the others,
// and back off apart. A batch that is refused for its content is halved until the refused stand alone. Whatever ends the
// shipment early (a failure, refused credentials, the lease's time), the rest is handed back unsent.
import { backoff, type BackoffOptions } from '../lib/backoff.ts'
import { blames, sentenceOf, type Later, type Unacceptable } from './verdict.ts'
import { encoded, joined, type Encode, type Parcel } from './parcel.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import { StoreError } from '../lib/fault.ts'
import type { OutboxEntry, OutboxLease, Outbox, Settlement } from '../store/ports/outbox.ts'
import type { QueueBreaker } from './circuit-breaker.ts'
import type { Ledger } from './ledger.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { Sender } from './sender.ts'

/** What every shipment of a lane shares. */
export interface Road {
  readonly exports: Pick<Outbox, 'settle'>
  readonly encode: Encode
  readonly sender: Pick<Sender, 'send'>
  readonly breaker: QueueBreaker
  readonly ledger: Ledger
  /** Bytes of one request before compression; a single larger item still goes, alone. */
  readonly batchBytes: number
  /** Pauses of an item that is set apart. */
  readonly pauses: BackoffOptions
  /** No send takes longer, ms. */
  readonly longestSend: number
  /** What became of items cannot be noted at the moment; answers what to call when it could. */
  readonly holdUp: () => () => void
  /** The lane stops: no other request begins. */
  readonly isStopping: () => boolean
  readonly clock: Clock
  readonly log: Log
}

export interface Cargo {
  readonly lease: OutboxLease
  /** Until then the items are this process's, by `elapsed`. */
  readonly leaseEnd: Millis
  /** The same by the time of day: while a machine sleeps, the other clock stands still and the database's goes on. */
  readonly leaseEndOfDay: Millis
  /** Admitted by a half-open circuit breaker. */
  readonly isProbe: boolean
}

/** From this many tries on an item is a suspect. */
const suspectAfter = 5
/** So many suspects in a row without success speak of the backend rather than of them. */
const strikesOut = 3
/** The reason of a dead letter that no backend has seen. */
const damage = 'what is stored of it is damaged: nothing can be sent'

/** To note what became of an item. */
const leastTries = 3

export class Shipment {
  readonly #road: Road
  readonly #cargo: Cargo
  /** Ids that are not settled yet. */
  readonly #open: Set<number>
  readonly #refused: { item: OutboxEntry; verdict: Unacceptable; began: number }[] = []
  #strikes = 0
  #lost = false

  constructor(road: Road, cargo: Cargo) {
    this.#road = road
    this.#cargo = cargo
    const { items, damaged } = cargo.lease
    this.#open = new Set([...items, ...damaged].map(({ id }) => id))
  }

  /** Resolves when every item is settled. Rejects when the store does not take the settlements while the lease lasts. */
  async run(): Promise<void> {
    const { items, damaged } = this.#cargo.lease
    await this.#settle(damaged.map(({ id }) => ({ id, as: 'rejected', status: 0, error: damage })))
    const arrived =
      (await this.#deliverPacked(items.filter(({ tries }) => tries < suspectAfter))) &&
      (await this.#deliverSuspects(items.filter(({ tries }) => tries >= suspectAfter)))
    await this.#settleRefused(arrived)
    await this.#settle([...this.#open].map(id => ({ id, as: 'unsent' })))
  }

  /** False, as everywhere below: the shipment ends here. */
  async #deliverPacked(items: readonly OutboxEntry[]): Promise<boolean> {
    let pack: Parcel[] = []
    let size = 0
    for await (const parcel of this.#parcels(items)) {
      if (pack.length > 0 && size + parcel.bytes.length > this.#road.batchBytes) {
        if (!(await this.#deliver(pack))) return false
        pack = []
        size = 0
      }
      pack.push(parcel)
      size += parcel.bytes.length
    }
    return pack.length === 0 || this.#deliver(pack)
  }

  async #deliverSuspects(items: readonly OutboxEntry[]): Promise<boolean> {
    for await (const parcel of this.#parcels(items)) if (!(await this.#deliver([parcel], true))) return false
    return true
  }

  /** An item that cannot be encoded is a dead letter by itself; one that has nothing to tell is done. */
  async *#parcels(items: readonly OutboxEntry[]): AsyncGenerator<Parcel> {
    for await (const found of encoded(items, this.#road.encode)) {
      if ('reason' in found) await this.#reject(found.item, 0, found.reason)
      else if (found.bytes.length > 0) yield found
      else await this.#settle([{ id: found.item.id, as: 'delivered' }])
    }
  }

  async #deliver(parcels: readonly Parcel[], alone = false): Promise<boolean> {
    if (!this.#mayGoOn()) return false
    const { sender, breaker, ledger } = this.#road
    const body = joined(parcels)
    const sent = await sender.send(body)
    ledger.answered(sent, parcels.length, body.length)
    const { verdict, began } = sent
    switch (verdict.as) {
      case 'delivered':
        breaker.accepted(began)
        this.#strikes = 0
        await this.#settle(parcels.map(({ item }) => ({ id: item.id, as: 'delivered' })))
        return true
      case 'unauthorized':
        breaker.unauthorized(verdict, sent.token, began)
        await this.#putOff(parcels, 0, sentenceOf(verdict), false)
        return false
      case 'unacceptable':
        breaker.authorized(began)
        return this.#divide(parcels, verdict, began)
      case 'later':
        return this.#fail(parcels, verdict, began, alone)
    }
  }

  async #divide(parcels: readonly Parcel[], verdict: Unacceptable, began: number): Promise<boolean> {
    const [only, ...others] = parcels
    if (only !== undefined && others.length === 0) {
      this.#refused.push({ item: only.item, verdict, began })
      return true
    }
    const middle = Math.ceil(parcels.length / 2)
    return (await this.#deliver(parcels.slice(0, middle))) && (await this.#deliver(parcels.slice(middle)))
  }

  async #fail(parcels: readonly Parcel[], verdict: Later, began: number, alone: boolean): Promise<boolean> {
    const { breaker, pauses, log } = this.#road
    const [suspect] = parcels
    if (!alone || suspect === undefined || !blames(verdict)) {
      await this.#putOff(parcels, breaker.unavailable(verdict, began), sentenceOf(verdict), blames(verdict))
      return false
    }
    // Retry-After speaks for all; without it only several suspects in a row stop the lane.
    this.#strikes += 1
    const stops = this.#strikes >= strikesOut || verdict.retryAfterMs !== undefined
    const lanePause = stops ? breaker.unavailable(verdict, began) : 0
    const { id, tries, chunk: part } = suspect.item
    const pause = Math.max(lanePause, backoff(tries - suspectAfter + 1, pauses))
    if (tries === suspectAfter) {
      log.warn({ export: id, ...part.key, reason: sentenceOf(verdict) }, 'an export keeps failing and is set apart')
    }
    await this.#putOff(parcels, pause, sentenceOf(verdict), true)
    return !stops
  }

  /** Refused singles are dead letters, unless this destination has accepted nothing yet: then they wait with all others. */
  async #settleRefused(arrived: boolean): Promise<void> {
    const [first] = this.#refused
    if (first === undefined) return
    const { breaker } = this.#road
    const forMs = arrived ? breaker.unacceptable(first.verdict, first.began) : 0
    if (breaker.hasAccepted) {
      for (const { item, verdict } of this.#refused) await this.#reject(item, verdict.status, verdict.words)
      return
    }
    await this.#settle(
      this.#refused.map(({ item: { id }, verdict }) => {
        return { id, as: 'later', forMs, error: sentenceOf(verdict), counted: false }
      }),
    )
  }

  #mayGoOn(): boolean {
    const { breaker, clock, longestSend, isStopping } = this.#road
    const { leaseEnd, leaseEndOfDay, isProbe } = this.#cargo
    const now = elapsed(clock)
    if (this.#lost || isStopping()) return false
    if (now + longestSend > leaseEnd || clock.now() + longestSend > leaseEndOfDay) return false
    return breaker.maySend(isProbe)
  }

  /** Another replica has them by now, and this one may neither send nor settle any of them. */
  #lose(lost: number): void {
    this.#lost = true
    this.#road.log.warn(
      { lost },
      'exports were settled too late: their lease had run out, and another replica has them',
    )
  }

  async #reject(item: OutboxEntry, status: number, error: string): Promise<void> {
    const { log } = this.#road
    log.error({ export: item.id, ...item.chunk.key, status, reason: error }, 'an export was refused: a dead letter')
    await this.#settle([{ id: item.id, as: 'rejected', status, error }])
  }

  async #putOff(parcels: readonly Parcel[], forMs: number, error: string, counted: boolean): Promise<void> {
    await this.#settle(parcels.map(({ item }) => ({ id: item.id, as: 'later', forMs, error, counted })))
  }

  /**
   * Tried again while the lease lasts, and for as long as the store does not answer: what is delivered and not noted would be
   * sent twice. All of one kind.
   */
  async #settle(settlements: readonly Settlement[]): Promise<void> {
    const [first] = settlements
    if (first === undefined) return
    const { exports, ledger, clock, holdUp, isStopping } = this.#road
    const { lease, leaseEnd } = this.#cargo
    let goOn: (() => void) | undefined
    for (const { id } of settlements) this.#open.delete(id)
    for (let tries = 1; ; tries += 1) {
      try {
        const { lost } = await exports.settle(lease.token, settlements)
        goOn?.()
        ledger.count('lost', lost)
        if (lost > 0) this.#lose(lost)
        if (first.as !== 'unsent') ledger.count(first.as, settlements.length - lost)
        return
      } catch (error) {
        goOn ??= holdUp()
        const isOver = elapsed(clock) >= leaseEnd && tries >= leastTries
        if (isOver && (isStopping() || !(error instanceof StoreError))) {
          goOn()
          throw error
        }
        await clock.sleep(backoff(tries, { first: 100, max: 2_000 }))
      }
    }
  }
}
