// The settle loop: takes the snapshots of runs that are due.
//
// 1. It leases some due runs, and settles them together in one transaction (`settle-runs.ts`).
// 2. If that fails, each run is settled alone. A run that fails again, for example because its stored rows are damaged, is postponed: it is retried
//    alone, after the others, with exponential backoff, so that it does not delay them.
// 3. If all of them fail, and not because of their data, the store is the cause: no run is postponed, and all are retried when their lease ends.
//
// The list of postponed runs is only in memory, not in the store, because a store that cannot be written cannot record them. After a restart they are
// tried again.
import { backoff } from '../../lib/backoff.ts'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import { isOfTheData, reasonOf } from '../../lib/fault.ts'
import { settleRuns } from './settle-runs.ts'
import type { Snapshotter } from './take-snapshots.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { Runs } from '../store/ports/runs.ts'
import type { RunKey } from '../../model/observation.ts'

export interface SettleLoopOptions {
  readonly runs: Runs
  /** The maximum number of runs settled in one transaction. */
  readonly perTransaction: number
  readonly snapshotter: Snapshotter
  readonly clock: Clock
  readonly log: Log
}

/** Counters of the settle loop since the daemon started. */
export interface SettleCounters {
  /** The number of times a run was postponed because it could not be settled. */
  postponed: number
}

export interface SettleLoop extends Loop {
  readonly counters: Readonly<SettleCounters>
  /** Settles all runs that are due now. */
  drain(): Promise<void>
}

/** The duration of a lease, ms. It is many times longer than settling takes. */
const leaseMs = 15_000
/**
 * The maximum pause between two turns of the loop, in ms. It is short, so that the loop soon notices a clock jump, or a run written by another
 * process.
 */
const maxPause = 1_000

/** The first and the maximum retry delay of a run that cannot be settled, ms. */
const pauses = { first: 15_000, max: 240_000 }
/** The maximum number of postponed runs. If it is exceeded, the list is cleared, and the runs in it are settled like all others. */
const maxPostponed = 10_000

interface Postponed {
  readonly tries: number
  /** When the run may be tried again, on the `elapsed` clock. */
  readonly until: Millis
}

interface Failure {
  readonly key: RunKey
  readonly error: unknown
}

export function createSettleLoop(options: SettleLoopOptions): SettleLoop {
  const { runs, perTransaction, snapshotter, clock, log } = options
  const counters: SettleCounters = { postponed: 0 }
  const postponed = new Map<string, Postponed>()

  async function settleDue(): Promise<boolean> {
    const leaseEnd = elapsed(clock) + leaseMs
    const keys = await runs.takeDue(perTransaction, leaseMs)
    const fresh = keys.filter(key => !postponed.has(nameOf(key)))
    const others = keys.filter(key => (postponed.get(nameOf(key))?.until ?? Infinity) <= elapsed(clock))
    try {
      if (fresh.length > 0) await settleRuns(fresh, runs, snapshotter)
    } catch {
      await settleEach(fresh, leaseEnd)
    }
    for (const key of others) {
      try {
        await settleRuns([key], runs, snapshotter)
        postponed.delete(nameOf(key))
        log.info(key, 'a run was settled after earlier failures')
      } catch (error) {
        postpone({ key, error })
      }
    }
    return keys.length > 0
  }

  /**
   * Settles each run alone. Throws if the failures are not caused by a single run. Runs that are not reached before the lease ends wait for the next
   * lease, because each might take minutes to fail.
   */
  async function settleEach(keys: readonly RunKey[], leaseEnd: Millis): Promise<void> {
    const failures: Failure[] = []
    let tried = 0
    for (const key of keys) {
      if (tried > 0 && elapsed(clock) > leaseEnd) break
      tried += 1
      try {
        await settleRuns([key], runs, snapshotter)
      } catch (error) {
        failures.push({ key, error })
      }
    }
    const ofStore = failures.find(({ error }) => !isOfTheData(error))
    if (ofStore !== undefined && failures.length === tried) throw ofStore.error
    failures.forEach(postpone)
  }

  function postpone({ key, error }: Failure): void {
    const name = nameOf(key)
    const tries = (postponed.get(name)?.tries ?? 0) + 1
    if (tries === 1) {
      log.error({ ...key, reason: reasonOf(error) }, 'a run cannot be settled; it is retried with back-off')
      if (postponed.size >= maxPostponed) postponed.clear()
    }
    postponed.set(name, { tries, until: elapsed(clock) + backoff(tries, pauses) })
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
