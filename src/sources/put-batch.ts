// Group commit: deliveries that arrive together share one durable transaction, and are answered after it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Delivery, Inbox, PutOutcome } from '../store/inbox.ts'

export interface PutBatchOptions {
  /** Deliveries of one transaction at most. */
  readonly maxItems: number
  /** Bytes of bodies in one transaction at most; a single larger one goes alone. */
  readonly maxBytes: number
  /** Called after each transaction that accepted something. Must not throw. */
  readonly onAccepted: () => void
}

export interface PutBatch {
  /** Resolves once the delivery is durable, or refused; rejects with what the store threw. */
  put(delivery: Delivery): Promise<PutOutcome>
}

interface Waiting {
  readonly delivery: Delivery
  readonly resolve: (outcome: PutOutcome) => void
  readonly reject: (error: unknown) => void
}

/** Turns of the event loop that bring nothing before a transaction begins. */
const quietTurns = 3
/** How long a transaction waits for more at most, ms: about as long as it takes itself. */
const longestGathering = 5

/** What arrives in quick succession, or while a transaction is under way, goes into one. */
export function createPutBatch(inbox: Pick<Inbox, 'put'>, options: PutBatchOptions): PutBatch {
  const waiting: Waiting[] = []
  let committing = false

  async function commitAll(): Promise<void> {
    committing = true
    try {
      while (waiting.length > 0) {
        await gather()
        await commit(waiting.splice(0, batchLength(waiting, options)))
      }
    } finally {
      // Whatever went wrong, the next delivery begins anew.
      committing = false
    }
  }

  /**
   * The event loop accepts one connection a turn, and senders open one for each delivery: so a single turn's arrivals are
   * few, even when hundreds are at the door.
   */
  async function gather(): Promise<void> {
    const end = performance.now() + longestGathering
    let quiet = 0
    while (quiet < quietTurns && waiting.length < options.maxItems && performance.now() < end) {
      const before = waiting.length
      await nextTurn()
      quiet = waiting.length > before ? 0 : quiet + 1
    }
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly PutOutcome[]
    try {
      outcomes = await inbox.put(batch.map(({ delivery }) => delivery))
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return
    }
    batch.forEach(({ resolve, reject }, at) => {
      const outcome = outcomes[at]
      if (outcome === undefined) reject(new TypeError('the inbox told fewer outcomes than it was given deliveries'))
      else resolve(outcome)
    })
    if (outcomes.includes('accepted')) options.onAccepted()
  }

  return {
    put: delivery =>
      new Promise((resolve, reject) => {
        waiting.push({ delivery, resolve, reject })
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
