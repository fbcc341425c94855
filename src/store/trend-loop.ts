// Keeps the figures over time up with what was frozen: in steps, off the way of deliveries and exports.
import { createLoop, type Loop } from '../lib/loop.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { TrendViews } from './trends.ts'

export interface TrendLoopOptions {
  readonly trends: TrendViews
  readonly clock: Clock
  readonly log: Log
}

/** Parts of one transaction: some milliseconds. */
const parts = 50
/** When there was nothing new, and between two steps while there is, ms. */
const pause = { idle: 5_000, busy: 5 }
/** Between two rounds of forgetting, ms. */
const pruneEvery = 3_600_000

export function createTrendLoop({ trends, clock, log }: TrendLoopOptions): Loop {
  let prunedAt = -Infinity
  return createLoop({
    name: 'trends',
    clock,
    log,
    turn: async () => {
      if ((await trends.takeIn(parts)) === parts) return pause.busy
      if (clock.now() - prunedAt >= pruneEvery) {
        await trends.prune()
        prunedAt = clock.now()
      }
      return pause.idle
    },
  })
}
