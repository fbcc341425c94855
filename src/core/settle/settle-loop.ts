// Settles runs that are due, in batches, and one by one if that fails. A run that cannot be settled, for example because its stored rows are damaged,
// is retried with growing pauses and delays no other.
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { isOfTheData, reasonOf } from '../../lib/fault.ts'
import { settleRuns } from './settle-runs.ts'
import type { Snapshotter } from './take-snapshots.ts'
import type { Log } from '../../lib/log.ts'
import type { Runs } from '../store/ports/runs.ts'
import type { RunKey } from '../../model/observation.ts'

// Runs that cannot be settled, each retried with growing pauses.
interface Postponed<Id> {
  /** True when it was postponed before. */
  has(id: Id): boolean
  /** Must be called whenever the item is leased again, because it counts the leases to skip. */
  isWaiting(id: Id): boolean
  postpone(id: Id): void
  forget(id: Id): void
}

/** The maximum of leases to skip before another try, which is a few minutes. */
const maxWait = 16
/** Beyond this number all are forgotten and tried as usual. */
const most = 10_000

function createPostponed<Id>(): Postponed<Id> {
  const known = new Map<Id, { readonly rest: number; left: number }>()
  return {
    has: id => known.has(id),
    isWaiting: id => {
      const one = known.get(id)
      if (one === undefined || one.left === 0) return false
      one.left -= 1
      return true
    },
    postpone: id => {
      const before = known.get(id)
      const rest = before === undefined ? 0 : Math.min(maxWait, Math.max(1, before.rest * 2))
      if (before === undefined && known.size >= most) known.clear()
      known.set(id, { rest, left: rest })
    },
    forget: id => {
      known.delete(id)
    },
  }
}

export interface SettleLoopOptions {
  readonly runs: Runs
  /** Runs of one transaction. */
  readonly perTransaction: number
  readonly snapshotter: Snapshotter
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start. */
export interface SettleCounters {
  /** How often a run was postponed because it could not be settled. */
  postponed: number
}

export interface SettleLoop extends Loop {
  readonly counters: Readonly<SettleCounters>
  /** Settles all runs that are due now. */
  drain(): Promise<void>
}

/** Many times longer than settling takes, ms. */
const leaseMs = 15_000
/** The maximum pause, so that a clock that jumps, or a run that another process wrote, is noticed in time, ms. */
const maxPause = 1_000

interface Failure {
  readonly key: RunKey
  readonly error: unknown
}

export function createSettleLoop(options: SettleLoopOptions): SettleLoop {
  const { runs, perTransaction, snapshotter, clock, log } = options
  const counters: SettleCounters = { postponed: 0 }
  const waiting = createPostponed<string>()

  /** Settles all or none of them. */
  const settle = async (keys: readonly RunKey[]): Promise<void> => settleRuns(keys, runs, snapshotter)

  /** Returns the runs that cannot be settled. Throws if no single run is to blame: then all are retried. */
  async function settleEach(keys: readonly RunKey[], until: number): Promise<readonly Failure[]> {
    const failed: Failure[] = []
    let tried = 0
    for (const key of keys) {
      // The lease has expired, and the rest might take minutes to fail one by one.
      if (tried > 0 && elapsed(clock) > until) break
      tried += 1
      try {
        await settle([key])
      } catch (error) {
        failed.push({ key, error })
      }
    }
    const failure = failed.find(({ error }) => !isOfTheData(error))
    if (failure !== undefined && failed.length === tried) throw failure.error
    return failed
  }

  async function settleDue(): Promise<boolean> {
    const until = elapsed(clock) + leaseMs
    const keys = await runs.takeDue(perTransaction, leaseMs)
    const fresh = keys.filter(key => !waiting.has(nameOf(key)))
    if (fresh.length > 0) {
      try {
        await settle(fresh)
      } catch {
        for (const failure of await settleEach(fresh, until)) postpone(failure)
      }
    }
    // Postponed runs come last, one by one, so that none waits for them.
    for (const key of keys.filter(one => waiting.has(nameOf(one)))) {
      if (fresh.includes(key) || waiting.isWaiting(nameOf(key))) continue
      try {
        await settle([key])
        waiting.forget(nameOf(key))
        log.info(key, 'a run was settled after earlier failures')
      } catch (error) {
        postpone({ key, error })
      }
    }
    return keys.length > 0
  }

  function postpone({ key, error }: Failure): void {
    const name = nameOf(key)
    if (!waiting.has(name)) {
      log.error({ ...key, reason: reasonOf(error) }, 'a run cannot be settled; it is retried with back-off')
    }
    waiting.postpone(name)
    counters.postponed += 1
  }

  const loop = createLoop({
    name: 'settler',
    clock,
    log,
    turn: async () => {
      if (await settleDue()) return 0
      return Math.min(maxPause, Math.max(1, (await runs.dueIn()) ?? maxPause))
    },
  })
  return {
    ...loop,
    counters,
    drain: async () => {
      while (await settleDue());
    },
  }
}

function nameOf({ instance, pipelineId }: RunKey): string {
  return `${instance}\n${pipelineId}`
}
