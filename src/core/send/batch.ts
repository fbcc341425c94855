// One leased batch of outbox entries. Their messages are packed into requests and sent, and each entry is settled by the verdict on the response.
//
// 1. An entry that cannot be sent at all becomes a dead letter: its bytes are damaged, a header has no value, or the destination no longer takes its
//    project.
// 2. The other entries are packed into requests, those with fewer attempts first. From the fifth attempt on, an entry shares its request with ever
//    fewer others, so that a bad entry is eventually sent alone.
// 3. Requests are sent one after another, and their entries are settled by the verdict (`verdict.ts`):
//    - delivered;
//    - rejected content: the request is halved until the rejected entries are isolated (one bad entry among eight takes seven requests);
//    - retry later: the batch ends. If an entry may have caused the failure (a 5xx, or no response), it counts as an attempt for each entry in the
//      request;
//    - rejected credentials: the batch ends, and no entry is blamed.
// 4. Entries that were rejected alone become dead letters, unless the destination has accepted nothing since the start: then its address may be
//    wrong, and they wait.
// 5. If a batch ends early, for example because its lease ends, the remaining entries are returned unsent.
//
// Dead letters are decided only at the end, because one accepted request proves that the address is right.
import { backoff, type BackoffOptions } from '../../lib/backoff.ts'
import { blames, sentenceOf, type Later, type Unacceptable } from './verdict.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { joined, release, requestOf } from './messages.ts'
import { StoreError } from '../../lib/fault.ts'
import type { ExportQueue, OutboxEntry, OutboxLease, Outbox, Settlement } from '../store/ports/outbox.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { packed, type Packable } from './pack.ts'
import type { Destination } from './destination.ts'
import type { ExportStats } from './export-stats.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Sender } from './sender.ts'

/** The context that all batches of an export queue share. */
export interface BatchContext extends Pick<Destination, 'headerValues' | 'takes'> {
  readonly queue: ExportQueue
  readonly outbox: Pick<Outbox, 'settle'>
  readonly sender: Pick<Sender, 'send'>
  readonly breaker: CircuitBreaker
  /** Whether the destination has accepted a request since the start. If so, its address is right. */
  readonly address: { isProven: boolean }
  readonly stats: ExportStats
  /** The maximum size of one request in bytes before compression. A single larger entry is sent alone. */
  readonly batchBytes: number
  /** The retry delays for an entry that may itself be the cause of the failure. */
  readonly pauses: BackoffOptions
  /** The maximum duration of a send, ms. */
  readonly maxSend: number
  /** Called when the store cannot settle entries. The queue leases nothing until the returned function is called. */
  readonly pauseLeasing: () => () => void
  /** Whether the exporter is stopping. If so, no further request starts. */
  readonly isStopping: () => boolean
  readonly clock: Clock
  readonly log: Log
}

export interface LeasedBatch {
  readonly lease: OutboxLease
  /** The end of the lease on the `elapsed` clock. Until then the entries belong to this process. */
  readonly leaseEnd: Millis
  /** The end of the lease by the time of day. While a machine sleeps, `elapsed` stops, but the database's clock keeps running. */
  readonly leaseEndOfDay: Millis
}

interface Item extends Packable {
  readonly entry: OutboxEntry
}

interface Refused {
  readonly entry: OutboxEntry
  readonly verdict: Unacceptable
}

/** From this attempt on, each further attempt at least halves the number of other entries in the request. */
const halvedFrom = 5
const maxHalved = 8
/** The reasons for dead letters that were never sent to a backend. */
const damage = 'not sent: the stored data is damaged'
const valueless = 'not sent: a template in the headers of the destination has no value for this project'
const foreign = 'not sent: the destination is no longer configured for this project (`projects`)'

/** The minimum number of attempts to settle entries, even if the lease expires in the meantime. */
const minTries = 3

export class Batch {
  readonly #context: BatchContext
  readonly #batch: LeasedBatch
  /** The ids of the entries that are not settled yet. */
  readonly #unsettled: Set<number>
  readonly #refused: Refused[] = []
  #lost = false

  constructor(context: BatchContext, batch: LeasedBatch) {
    this.#context = context
    this.#batch = batch
    this.#unsettled = new Set(batch.lease.items.map(({ id }) => id))
  }

  /**
   * Sends the batch. Resolves when every entry is settled. Rejects if the store cannot settle them by the end of the lease, and either the exporter
   * is stopping or the error is not a StoreError.
   */
  async send(): Promise<void> {
    const items = await this.#items()
    items.sort((a, b) => a.entry.tries - b.entry.tries)
    const packs = packed(items, this.#context.batchBytes, ({ entry: { tries } }) =>
      tries < halvedFrom ? Infinity : Math.max(1, maxHalved >> (tries - halvedFrom + 1)),
    )
    let arrived = true
    for (const pack of packs) arrived &&= await this.#deliver(pack)
    await this.#settleRefused(arrived)
    await this.#settle([...this.#unsettled].map(id => ({ id, as: 'unsent' })))
  }

  /** Returns the entries to send. An entry that cannot be sent at all, or not to this destination, becomes a dead letter. */
  async #items(): Promise<Item[]> {
    const { headerValues, takes } = this.#context
    const items: Item[] = []
    for (const entry of this.#batch.lease.items) {
      const { subject, key, body } = entry
      const values = headerValues?.(subject, key)
      const bytes = readable(body)
      if (bytes === undefined) await this.#reject(entry, 0, damage)
      else if (headerValues !== undefined && values === undefined) await this.#reject(entry, 0, valueless)
      else if (takes?.(subject) === false) await this.#reject(entry, 0, foreign)
      else items.push({ entry, bytes, values })
    }
    return items
  }

  /** Sends these entries. Returns false if the batch must end. */
  async #deliver(items: readonly Item[]): Promise<boolean> {
    if (!this.#mayGoOn()) return false
    const { queue, sender, breaker, address, stats } = this.#context
    const body = joined(
      queue.signal,
      items.map(({ bytes }) => bytes),
    )
    const { length } = body
    const sent = await sender.send(body, items[0]?.values)
    stats.answered(sent, items.length, length)
    const { verdict } = sent
    switch (verdict.as) {
      case 'delivered':
        breaker.accepted()
        address.isProven = true
        // If a request contains a single item, the item's buffer is itself the body, and is not released here. A socket may still be using it,
        // because a backend may respond before it has read everything.
        if (items.length > 1) for (const { bytes } of items) release(bytes)
        await this.#settle(items.map(({ entry: { id } }) => ({ id, as: 'delivered' })))
        return true
      case 'unauthorized':
        breaker.trip('unauthorized', verdict, sent.token)
        await this.#putOff(items, 0, sentenceOf(verdict), false)
        return false
      case 'unacceptable':
        return this.#divide(items, verdict)
      case 'later':
        await this.#fail(items, verdict)
        return false
    }
  }

  async #divide(items: readonly Item[], verdict: Unacceptable): Promise<boolean> {
    const [only, ...others] = items
    if (only !== undefined && others.length === 0) {
      this.#refused.push({ entry: only.entry, verdict })
      return true
    }
    const middle = Math.ceil(items.length / 2)
    return (await this.#deliver(items.slice(0, middle))) && (await this.#deliver(items.slice(middle)))
  }

  /**
   * Postpones the entries of a failed request. Entries that have failed more often wait longer than the queue's pause, so that other entries are sent
   * in the meantime.
   */
  async #fail(items: readonly Item[], verdict: Later): Promise<void> {
    const { breaker, pauses } = this.#context
    const isCounted = blames(verdict)
    const tries = Math.max(...items.map(({ entry }) => entry.tries)) + 1
    const pause = breaker.trip('unavailable', verdict)
    await this.#putOff(
      items,
      isCounted ? Math.max(pause, backoff(tries, pauses)) : pause,
      sentenceOf(verdict),
      isCounted,
    )
  }

  /**
   * Entries that were rejected alone become dead letters, unless this destination has accepted nothing yet. In that case they wait longer than the
   * queue's pause, so that the next probe contains other entries.
   */
  async #settleRefused(arrived: boolean): Promise<void> {
    const [first] = this.#refused
    if (first === undefined) return
    const { breaker, address } = this.#context
    // If a queue's circuit breaker has tripped because content was rejected, the queue continues to probe.
    const isHeld = arrived && (!address.isProven || breaker.cause === 'unacceptable')
    const forMs = isHeld ? 2 * breaker.trip('unacceptable', first.verdict) : 0
    if (address.isProven) {
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
    const { leaseEnd, leaseEndOfDay } = this.#batch
    if (this.#lost || isStopping() || breaker.state === 'open') return false
    return elapsed(clock) + maxSend <= leaseEnd && clock.now() + maxSend <= leaseEndOfDay
  }

  /** Another replica has leased the entries by now. This process must neither send nor settle any of them. */
  #lose(lost: number): void {
    this.#lost = true
    this.#context.log.warn(
      { lost },
      'export results came too late: their lease had expired, and another replica has taken over',
    )
  }

  async #reject(entry: OutboxEntry, status: number, error: string): Promise<void> {
    const { id, pipelineId, subject } = entry
    const lost = await this.#settle([{ id, as: 'rejected', status, error }])
    // The dead letter is logged after it is stored, so that anyone who sees the log entry finds it in the list.
    if (lost > 0) return
    this.#context.log.error(
      { export: id, instance: subject.instance, pipelineId, status, reason: error },
      'an export was refused; it is now a dead letter',
    )
  }

  async #putOff(items: readonly Item[], forMs: number, error: string, counted: boolean): Promise<void> {
    await this.#settle(items.map(({ entry: { id } }) => ({ id, as: 'later', forMs, error, counted })))
  }

  /**
   * Settles entries, and retries until the store has done so, because a delivered entry that is not settled would be sent again. After the end of
   * the lease it throws if the exporter is stopping or the error is not a StoreError. All settlements are of one kind. Returns the number of entries
   * that another replica has taken over.
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

function readable(body: Uint8Array): Uint8Array | undefined {
  try {
    return requestOf(body)
  } catch {
    return undefined
  }
}
