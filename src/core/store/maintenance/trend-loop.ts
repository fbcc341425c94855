// Updates the figures over time from new snapshots, in steps, without delaying deliveries and exports.
import { createLoop, type Loop } from '../../../lib/loop.ts'
import { elapsed, type Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import type { TrendViews } from '../ports/trends.ts'

export interface TrendLoopOptions {
  readonly trends: TrendViews
  /** False: no page reads new figures, so the loop only deletes old ones. A later start with pages counts the chunks that are still stored. */
  readonly counts: boolean
  /** How long daily figures are stored, ms. */
  readonly keep: number
  readonly clock: Clock
  readonly log: Log
}

/** Chunks of one transaction whose runs are read: some milliseconds. */
const chunks = 50
/** How long the chunks of a project are gathered, ms: the longer, the more of them share their rows. */
const gathering = 5_000
/** When nothing is due, and between two transactions until then, ms. */
const pause = { idle: 500, busy: 5 }
/** Between two deletions of old figures, ms. */
const pruneEvery = 3_600_000

export function createTrendLoop({ trends, counts, keep, clock, log }: TrendLoopOptions): Loop {
  let prunedAt = -Infinity

  async function prune(): Promise<void> {
    if (elapsed(clock) - prunedAt < pruneEvery) return
    await trends.prune(keep)
    prunedAt = elapsed(clock)
  }

  return createLoop({
    name: 'trends',
    clock,
    log,
    turn: async () => {
      if (!counts) {
        await prune()
        return pruneEvery
      }
      if ((await trends.takeIn(chunks, gathering)) > 0) return pause.busy
      await prune()
      return pause.idle
    },
  })
}
