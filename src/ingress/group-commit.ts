// Group commit: deliveries that arrive together share one durable transaction, and are answered after it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { after, type Timer } from '../lib/timer.ts'
import { StoreError } from '../lib/fault.ts'
import type { Delivery, Inbox, InboxWriter, PutOutcome } from '../store/ports/inbox.ts'

/** `concurrency`: how many puts may run at a time; 1 by default. */
export type PutBatchInbox = Pick<Inbox, 'put'> & Partial<Pick<InboxWriter, 'concurrency'>>

export interface PutBatchOptions {
  /** Deliveries of one transaction at most. */
  readonly maxItems: number
  /** Bytes of bodies in one transaction at most; a single larger one goes alone. */
  readonly maxBytes: number
  /** How long a sender waits for its answer at most, ms; 7 s by default. */
  readonly timeoutMs?: number | undefined
  /** Called after each transaction that accepted something. Must not throw. */
  readonly onAccepted: () => void
}

export interface PutBatch {
  /**
   * Resolves once the delivery is durable, or refused. Rejects with the store's error, or before the sender's timeout. The delivery may still
   * become durable then: a retry is answered as a duplicate.
   */
  put(delivery: Delivery): Promise<PutOutcome>
}

interface Waiting {
  readonly delivery: Delivery
  readonly since: number
  readonly resolve: (outcome: PutOutcome) => void
  readonly reject: (error: unknown) => void
}

/** A transaction begins after so many turns of the event loop without a new delivery. */
const quietTurns = 3
/** How long a transaction waits for more deliveries at most, ms: about as long as it takes itself. */
const maxGathering = 5
/** The platform gives up after 10 s, some of which the request took, ms. */
const defaultTimeoutMs = 7_000
/** How often the timeouts of waiting deliveries are checked, ms. */
const lookEvery = 250
/** A transaction that takes longer does not delay the next one if several may run at a time, ms. */
const slow = 500

/** Deliveries that arrive in quick succession, or while a transaction is under way, share one. */
export function createPutBatch(inbox: PutBatchInbox, options: PutBatchOptions): PutBatch {
  const { concurrency = 1 } = inbox
  const { timeoutMs = defaultTimeoutMs } = options
  const waiting: Waiting[] = []
  const underWay = new Set<Promise<void>>()
  /** Unanswered deliveries, the oldest first. */
  const open = new Set<Waiting>()
  let isLooking = false
  let committing = false

  async function commitAll(): Promise<void> {
    committing = true
    try {
      while (waiting.length > 0) {
        await gather()
        await begin(waiting.splice(0, batchLength(waiting, options)))
      }
    } finally {
      committing = false
    }
  }

  /** The event loop accepts one connection in a turn, and senders open one for each delivery. So each turn brings few, even if hundreds are waiting. */
  async function gather(): Promise<void> {
    const end = performance.now() + maxGathering
    let quiet = 0
    while (quiet < quietTurns && waiting.length < options.maxItems && performance.now() < end) {
      const before = waiting.length
      await nextTurn()
      quiet = waiting.length > before ? 0 : quiet + 1
    }
  }

  /** Resolves when the next transaction may begin. */
  async function begin(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return
    const done: Promise<void> = commit(batch).finally(() => underWay.delete(done))
    if (concurrency === 1) return done
    underWay.add(done)
    let timer: Timer | undefined
    const late = new Promise<void>(resolve => (timer = after(slow, resolve, () => resolve())))
    await Promise.race([done, late])
    timer?.stop()
    while (underWay.size >= concurrency) await Promise.race(underWay)
  }

  /** One timer for all: most are answered within milliseconds. */
  function look(): void {
    if (isLooking) return
    isLooking = true
    const again = (): void => {
      isLooking = false
      giveUp()
      if (open.size > 0) look()
    }
    after(lookEvery, again, again)
  }

  function giveUp(): void {
    const now = performance.now()
    for (const one of open) {
      if (now - one.since < timeoutMs) return
      const at = waiting.indexOf(one)
      if (at >= 0) waiting.splice(at, 1)
      open.delete(one)
      one.reject(
        new StoreError(
          `The store has not answered within ${timeoutMs / 1000} s.`,
          'Check that the database is reachable.',
        ),
      )
    }
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly PutOutcome[]
    try {
      outcomes = await inbox.put(batch.map(({ delivery }) => delivery))
    } catch (error) {
      for (const one of batch) {
        open.delete(one)
        one.reject(error)
      }
      return
    }
    batch.forEach((one, at) => {
      const { resolve, reject } = one
      const outcome = outcomes[at]
      open.delete(one)
      if (outcome === undefined)
        reject(new TypeError('the inbox answered with fewer outcomes than it was given deliveries'))
      else resolve(outcome)
    })
    if (outcomes.includes('accepted')) options.onAccepted()
  }

  return {
    put: delivery =>
      new Promise((resolve, reject) => {
        const one = { delivery, since: performance.now(), resolve, reject }
        waiting.push(one)
        open.add(one)
        look()
        if (!committing) void commitAll()
      }),
  }
}

/** How many of the first ones go together: at least one. */
function batchLength(waiting: readonly Waiting[], { maxItems, maxBytes }: PutBatchOptions): number {
  let bytes = 0
  const end = waiting.findIndex(({ delivery }, at) => {
    bytes += delivery.body.byteLength
    return at > 0 && (at >= maxItems || bytes > maxBytes)
  })
  return end === -1 ? waiting.length : end
}
