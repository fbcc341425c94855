// Takes runs that are due and has them settled, a batch at a time; one by one where that fails: a run that nobody can settle (what is
// stored of it is damaged, say) is put off, ever longer, and the others do not wait for it.
import { createLoop, type Loop } from '../lib/loop.ts'
import { createSetbacks } from './postponed.ts'
import { elapsed, type Clock } from '../lib/clock.ts'
import { isOfTheData, reasonOf } from '../lib/fault.ts'
import { settleRuns } from './settle-runs.ts'
import type { Freezer } from './take-snapshots.ts'
import type { Log } from '../lib/log.ts'
import type { Runs } from '../store/ports/runs.ts'
import type { RunKey } from '../model/observation.ts'

export interface SettlerOptions {
  readonly runs: Runs
  /** Runs of one transaction. */
  readonly perTransaction: number
  readonly freezer: Freezer
  readonly clock: Clock
  readonly log: Log
}

/** Counted since start. */
export interface SettlerCounters {
  /** How often a run was put off, because it could not be settled. */
  putOff: number
}

export interface Settler extends Loop {
  readonly counters: Readonly<SettlerCounters>
  /** Freezes all that is due now. */
  drain(): Promise<void>
}

/** Held many times longer than looking at them lasts, ms. A run that is put off is tried when it was held so many times. */
const holdMs = 15_000
/** No pause is longer, so that a clock that jumps or another process's news is noticed, ms. */
const longestPause = 1_000

interface Failure {
  readonly key: RunKey
  readonly error: unknown
}

export function createSettler({ runs, perTransaction, freezer, clock, log }: SettlerOptions): Settler {
  const counters: SettlerCounters = { putOff: 0 }
  const setbacks = createSetbacks<string>()

  /** Answers those that cannot be settled. Throws where it is no single run's fault: those are all tried again. */
  async function settleEach(keys: readonly RunKey[], until: number): Promise<readonly Failure[]> {
    const failed: Failure[] = []
    let tried = 0
    for (const key of keys) {
      // The rest would be tried in vain, and one after the other perhaps for minutes.
      if (tried > 0 && elapsed(clock) > until) break
      tried += 1
      try {
        await settleRuns([key], runs, freezer)
      } catch (error) {
        failed.push({ key, error })
      }
    }
    const trouble = failed.find(({ error }) => !isOfTheData(error))
    if (trouble !== undefined && failed.length === tried) throw trouble.error
    return failed
  }

  async function settleDue(): Promise<boolean> {
    const until = elapsed(clock) + holdMs
    const keys = await runs.takeDue(perTransaction, holdMs)
    const fresh = keys.filter(key => !setbacks.has(nameOf(key)))
    if (fresh.length > 0) {
      try {
        await settleRuns(fresh, runs, freezer)
      } catch {
        for (const failure of await settleEach(fresh, until)) putOff(failure)
      }
    }
    // Last and each alone: nobody waits for them.
    for (const key of keys.filter(one => setbacks.has(nameOf(one)))) {
      if (fresh.includes(key) || setbacks.isResting(nameOf(key))) continue
      try {
        await settleRuns([key], runs, freezer)
        setbacks.forget(nameOf(key))
        log.info(key, 'a run that could not be settled could be now')
      } catch (error) {
        putOff({ key, error })
      }
    }
    return keys.length > 0
  }

  function putOff({ key, error }: Failure): void {
    const name = nameOf(key)
    if (!setbacks.has(name)) {
      log.error({ ...key, reason: reasonOf(error) }, 'a run cannot be settled: it is tried again ever more rarely')
    }
    setbacks.note(name)
    counters.putOff += 1
  }

  const loop = createLoop({
    name: 'settler',
    clock,
    log,
    turn: async () => {
      if (await settleDue()) return 0
      return Math.min(longestPause, Math.max(1, (await runs.dueIn()) ?? longestPause))
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
