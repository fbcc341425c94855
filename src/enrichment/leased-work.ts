// Processes a queue of leased items: several at a time, with leases that are renewed during the work and released when the daemon stops. While the
// platform does not answer, no item is begun.
import { backoff } from '../lib/backoff.ts'
import { createLoop, type Loop } from '../lib/loop.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'

export interface LeasedQueue<Item> {
  /** Items in flight at a time. */
  readonly places: number
  /** An item that takes longer gives its place to another one. At most `extra` do so. */
  readonly slow?: { readonly afterMs: number; readonly extra: number } | undefined
  /** Which items in flight are this queue's; undefined: all. */
  readonly has?: (item: Item) => boolean
  /** Leases items that are due. */
  take(limit: number, leaseMs: number): Promise<readonly Item[]>
}

export interface LeasedWorkOptions<Item> {
  /** Of the loop, in the log. */
  readonly name: string
  /** The items of one queue are begun before the next queue is read. */
  readonly queues: readonly LeasedQueue<Item>[]
  /** If an item is leased again while it is in progress, it is released at the end of the work and stays due. */
  readonly nameOf: (item: Item) => string
  /** Takes the item out of the queue or puts it back. Aborted when the daemon stops. */
  readonly work: (item: Item, signal: AbortSignal) => Promise<void>
  /** Called with what `work` threw; the item becomes due again when its lease has expired. */
  readonly onError: (item: Item, error: unknown) => void
  /** Called after each item, whatever came of it. */
  readonly onDone?: () => void
  readonly extend: (items: readonly Item[], leaseMs: number) => Promise<void>
  readonly beforeTurn?: (now: number) => Promise<void>
  readonly rests: Rests
  readonly clock: Clock
  readonly log: Log
}

export interface LeasedWork extends Loop {
  /** Processes everything that is due now. */
  drain(): Promise<void>
}

interface InFlight<Item> {
  readonly item: Item
  readonly since: number
  isLeasedAgain: boolean
  done: Promise<void>
}

/** Growing pauses while the platform does not answer. */
export interface Rests {
  /** The platform answered: the next pause will be short. */
  answered(): void
  /** The platform did not answer: a pause begins. */
  begin(): void
  /** What is left of the pause, ms; 0: there is none. */
  left(): number
}

/** Longer than a request may take, or a pause within its answer. */
export const leaseMs = 90_000
const renewMs = 30_000
const turnMs = 1_000

export function createRests(clock: Clock): Rests {
  let failures = 0
  let until = 0
  return {
    answered: () => {
      failures = 0
    },
    begin: () => {
      failures += 1
      until = elapsed(clock) + backoff(failures, { first: 1_000, max: 60_000 })
    },
    left: () => Math.max(0, until - elapsed(clock)),
  }
}

export function createLeasedWork<Item>(options: LeasedWorkOptions<Item>): LeasedWork {
  const { name, queues, nameOf, work, extend, rests, clock, log } = options
  const inFlight = new Map<string, InFlight<Item>>()
  const closing = new AbortController()
  let renewedAt = elapsed(clock)

  const items = (): Item[] => [...inFlight.values()].map(({ item }) => item)

  function begin(item: Item): void {
    const itemName = nameOf(item)
    const earlier = inFlight.get(itemName)
    if (earlier !== undefined) {
      earlier.isLeasedAgain = true
      return
    }
    const worked = async (): Promise<void> => {
      try {
        await work(item, closing.signal)
        if (own.isLeasedAgain) await extend([item], 0)
      } catch (error) {
        if (!closing.signal.aborted) options.onError(item, error)
      }
      inFlight.delete(itemName)
      options.onDone?.()
      loop.wake()
    }
    const own: InFlight<Item> = { item, since: elapsed(clock), isLeasedAgain: false, done: Promise.resolve() }
    inFlight.set(itemName, own)
    own.done = worked()
  }

  async function beginDue(): Promise<number> {
    let begun = 0
    for (const queue of queues) {
      const own = [...inFlight.values()].filter(({ item }) => queue.has?.(item) ?? true)
      const { afterMs, extra } = queue.slow ?? { afterMs: Infinity, extra: 0 }
      const slow = own.filter(({ since }) => elapsed(clock) - since > afterMs).length
      const free = queue.places - own.length + Math.min(extra, slow)
      const taken = free > 0 ? await queue.take(free, leaseMs) : []
      for (const item of taken) begin(item)
      begun += taken.length
    }
    return begun
  }

  async function renew(now: number): Promise<void> {
    if (now - renewedAt < renewMs) return
    renewedAt = now
    await extend(items(), leaseMs)
  }

  const loop = createLoop({
    name,
    clock,
    log,
    turn: async () => {
      const now = elapsed(clock)
      await options.beforeTurn?.(now)
      await renew(now)
      const rest = rests.left()
      if (rest > 0) return Math.min(turnMs, rest)
      return (await beginDue()) > 0 ? 0 : turnMs
    },
  })
  return {
    ...loop,
    drain: async () => {
      while ((await beginDue()) > 0 || inFlight.size > 0) {
        // All may have ended by now, and a race of no promises would never resolve.
        if (inFlight.size > 0) await Promise.race([...inFlight.values()].map(({ done }) => done))
      }
    },
    stop: async () => {
      await loop.stop()
      closing.abort(new Error('the daemon stops'))
      const left = [...inFlight.values()]
      await Promise.all(left.map(({ done }) => done))
      await extend(
        left.map(({ item }) => item),
        0,
      )
    },
  }
}
