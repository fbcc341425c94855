// Updates the figures over time from new snapshots, in steps, without delaying deliveries and exports.
import { createLoop, type Loop } from '../../lib/loop.ts'
import { elapsed, type Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
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

/** Chunks that one step reads ahead, some milliseconds; and the same number in the transaction that writes, if nothing is read ahead. */
const chunks = { ahead: 50, written: 400 }
/** When there is nothing new to read, and between two steps while there is, ms. */
const pause = { idle: 250, busy: 5 }
/** Between two writes, ms, unless much was read since the last one. */
const writeEvery = 5_000
/** Between two deletions of old figures, ms. */
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
