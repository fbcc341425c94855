// Processes queues of leased items: several items at a time, with leases that are renewed during the work and released when the daemon stops.
//
// 1. Every 30 s the leases of the items in progress are renewed.
// 2. A lane contains the items of one platform token. It is closed while it has no free slot, or while the platform does not respond to its token.
// 3. From each queue in turn, due items of the open lanes are leased and started. Their number is limited to the smallest number of free slots in any
//    open lane.
// 4. If anything was leased, the next turn follows at once. Otherwise it follows after a second, or when the pause of a lane ends.
// 5. An item that is leased again while it is in progress is not started twice. It stays due, and is released when the work ends.
// 6. When the daemon stops, the work is aborted and all leases are released, so that the next process gets the items at once.
//
// If all lanes shared their slots, a token to which the platform does not respond would occupy all of them, and delay the items of the others.
import { backoff } from '../../lib/backoff.ts'
import { isWithin, type Territory } from '../../model/territory.ts'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Which } from '../store/ports/enrichment-queue.ts'

export interface LeasedQueue<Item, Lane> {
  /** The number of items that each lane processes concurrently. */
  readonly concurrency: number
  /** Items that take longer than `afterMs` no longer occupy a slot, so that others can start. At most `extra` slots are freed in this way. */
  readonly slow?: { readonly afterMs: number; readonly extra: number } | undefined
  /** Whether an item in progress belongs to this queue. If undefined, all items do. */
  readonly has?: (item: Item) => boolean
  /** Leases at most `limit` due items, except those in the closed lanes. */
  take(limit: number, leaseMs: number, closed: readonly Lane[]): Promise<readonly Item[]>
}

export interface Lanes<Item, Lane> {
  readonly all: readonly Lane[]
  readonly of: (item: Item) => Lane
}

export interface LeasedLane {
  readonly pause: LanePause
}

export interface LeasedWorkOptions<Item, Lane extends LeasedLane> {
  /** The name of the work loop in the log. */
  readonly name: string
  /** The queues in order of priority. The items of one queue are started before the next queue is read. */
  readonly queues: readonly LeasedQueue<Item, Lane>[]
  readonly lanes: Lanes<Item, Lane>
  /**
   * Returns the name that identifies an item. If an item is leased again while it is in progress, it is released when the work ends, and remains due.
   */
  readonly nameOf: (item: Item) => string
  /** Processes an item, and removes it from the queue or puts it back. The signal is aborted when the daemon stops. */
  readonly work: (item: Item, signal: AbortSignal) => Promise<void>
  /** Called with the error that `work` threw. The item becomes due again when its lease has expired. */
  readonly onError: (item: Item, error: unknown) => void
  /** Called after each item, whether its work succeeded or failed. */
  readonly onDone?: () => void
  readonly extend: (items: readonly Item[], leaseMs: number) => Promise<void>
  readonly beforeTurn?: (now: number) => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

export interface LeasedWork extends Loop {
  /** Processes all items that are due now. */
  drain(): Promise<void>
}

interface InFlight<Item, Lane> {
  readonly item: Item
  readonly lane: Lane
  readonly since: number
  isLeasedAgain: boolean
  done: Promise<void>
}

/** Exponential backoff between requests while the platform does not respond. */
export interface LanePause {
  /** Records that the platform responded, which resets the backoff. */
  answered(): void
  /** Starts a pause, because the platform did not respond. */
  begin(): void
  /** Returns the remaining time of the pause in ms; 0 if there is no pause. */
  left(): number
}

/** The duration of a lease in ms. It is longer than a request may take, and longer than the longest permitted gap in a streamed response. */
export const leaseMs = 90_000
const renewMs = 30_000
const turnMs = 1_000

export function createLanePause(clock: Clock): LanePause {
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

export function singleLane<Lane>(lane: Lane): Lanes<unknown, Lane> {
  return { all: [lane], of: () => lane }
}

export function createLeasedWork<Item, Lane extends LeasedLane>(options: LeasedWorkOptions<Item, Lane>): LeasedWork {
  const { name, queues, lanes, nameOf, work, extend, clock, log } = options
  const inFlight = new Map<string, InFlight<Item, Lane>>()
  const closing = new AbortController()
  let renewedAt = elapsed(clock)
  /**
   * The time at which a queue was last read without finding an item while some lanes were closed. Such a read scans all due items of the closed
   * lanes, so it is not repeated immediately.
   */
  const inVainAt = new Map<LeasedQueue<Item, Lane>, number>()

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
    const own: InFlight<Item, Lane> = {
      item,
      lane: lanes.of(item),
      since: elapsed(clock),
      isLeasedAgain: false,
      done: Promise.resolve(),
    }
    inFlight.set(itemName, own)
    own.done = worked()
  }

  /** Leases due items and starts them. `paused` lists the lanes that start no items. */
  async function beginDue(paused: readonly Lane[]): Promise<number> {
    let begun = 0
    for (const queue of queues) {
      for (;;) {
        const { closed, limit } = roomOf(queue, paused)
        const isTooSoon = elapsed(clock) - (inVainAt.get(queue) ?? -Infinity) < turnMs
        if (closed.length === lanes.all.length || (closed.length > 0 && isTooSoon)) break
        const taken = await queue.take(limit, leaseMs, closed)
        if (closed.length > 0 && taken.length === 0) inVainAt.set(queue, elapsed(clock))
        for (const item of taken) begin(item)
        begun += taken.length
        if (taken.length < limit) break
      }
    }
    return begun
  }

  /** Returns the closed lanes, and the maximum number of items to lease: the smallest number of free slots in any open lane. */
  function roomOf(queue: LeasedQueue<Item, Lane>, paused: readonly Lane[]): { closed: Lane[]; limit: number } {
    const own = Map.groupBy(
      [...inFlight.values()].filter(({ item }) => queue.has?.(item) ?? true),
      ({ lane }) => lane,
    )
    const { afterMs, extra } = queue.slow ?? { afterMs: Infinity, extra: 0 }
    const closed: Lane[] = []
    let limit = Infinity
    for (const lane of lanes.all) {
      const begun = own.get(lane) ?? []
      const slow = begun.filter(({ since }) => elapsed(clock) - since > afterMs).length
      const free = queue.concurrency - begun.length + Math.min(extra, slow)
      if (free <= 0 || paused.includes(lane)) closed.push(lane)
      else limit = Math.min(limit, free)
    }
    return { closed, limit }
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
      const paused = lanes.all.filter(({ pause }) => pause.left() > 0)
      if ((await beginDue(paused)) > 0) return 0
      return Math.min(turnMs, ...paused.map(({ pause }) => Math.max(1, pause.left())))
    },
  })
  return {
    ...loop,
    drain: async () => {
      while ((await beginDue([])) > 0 || inFlight.size > 0) {
        // If all items have finished by now, there is no promise left, and `Promise.race([])` would never resolve.
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

/**
 * A lane for one token of a platform. If a token is rejected or its budget is exhausted, only the items of that token wait. Items without a
 * configured token have their own lane, in which they are dropped.
 */
export interface TokenLane<Token> extends LeasedLane {
  /** The token; undefined in the lane of the items without a configured token. */
  readonly token: Token | undefined
}

export interface TokenLanes<Item, Token> extends Lanes<Item, TokenLane<Token>> {
  /** Leases the items that may be leased while these lanes are closed. If the lanes of all tokens are closed, it leases none. */
  take<T>(
    closed: readonly TokenLane<Token>[],
    lease: (which: Which | undefined) => Promise<readonly T[]>,
  ): Promise<readonly T[]>
}

/** Creates a lane for each token. `placeOf` returns the instance and the full path of an item's project. */
export function tokenLanes<Item, Token extends { readonly territory: Territory }>(
  tokens: readonly Token[],
  placeOf: (item: Item) => { readonly instance: string; readonly path?: string | undefined },
  clock: Clock,
): TokenLanes<Item, Token> {
  const lanes = tokens.map(token => ({ token, pause: createLanePause(clock) }))
  const others: TokenLane<Token> = { token: undefined, pause: createLanePause(clock) }
  return {
    all: [...lanes, others],
    of: item => {
      const { instance, path } = placeOf(item)
      return lanes.find(({ token }) => isWithin(token.territory, instance, path)) ?? others
    },
    take: async (closed, lease) => {
      if (closed.length === 0) return lease(undefined)
      const open = lanes.filter(lane => !closed.includes(lane))
      if (open.length === 0) return []
      if (closed.includes(others)) return lease({ only: open.map(({ token }) => token.territory) })
      return lease({ except: closed.flatMap(({ token }) => token?.territory ?? []) })
    },
  }
}
