// Brings the figures over time up to date with the snapshots that were taken: in steps, beside the way of deliveries and exports.
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { TrendViews } from '../ports/trends.ts'

export interface TrendLoopOptions {
  readonly trends: TrendViews
  /** False: nothing reads new figures, so it only deletes old ones. Chunks are counted later, if they are still stored when something does. */
  readonly counts: boolean
  /** How long figures of days are stored, ms. */
  readonly keep: number
  readonly clock: Clock
  readonly log: Log
}

/** Chunks read ahead in one step, some milliseconds; and beyond them in the transaction that writes, where nothing is read ahead. */
const chunks = { ahead: 50, written: 400 }
/** When there is nothing new to read, and between two steps while there is, ms. */
const pause = { idle: 250, busy: 5 }
/** Between two times of writing, unless more was read than should wait, ms. */
const writeEvery = 5_000
/** Between two rounds of forgetting, ms. */
const pruneEvery = 3_600_000

export function createTrendLoop({ trends, counts, keep, clock, log }: TrendLoopOptions): Loop {
  let wroteAt = -Infinity
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
      const found = await trends.readAhead(chunks.ahead)
      if (found === 'more') return pause.busy
      if (found === 'all' && elapsed(clock) - wroteAt < writeEvery) return pause.idle
      if ((await trends.takeIn(chunks.written)) === chunks.written) return pause.busy
      wroteAt = elapsed(clock)
      await prune()
      return found === 'all' ? pause.idle : pause.busy
    },
  })
}
