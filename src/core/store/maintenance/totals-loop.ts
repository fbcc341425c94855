// Folds what was added to the totals of metrics every few seconds, so that little waits for the next reader.
import { createLoop, type Loop } from '../../../lib/loop.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import type { Totals } from '../ports/totals.ts'

export interface TotalsLoopOptions {
  readonly totals: Pick<Totals, 'fold'>
  readonly clock: Clock
  readonly log: Log
}

/** Between two folds, ms. The longer, the more pipelines share one write of a series, and the more rows wait. */
const foldEvery = 5_000

export function createTotalsLoop({ totals, clock, log }: TotalsLoopOptions): Loop {
  return createLoop({
    name: 'totals',
    clock,
    log,
    turn: async () => {
      await totals.fold()
      return foldEvery
    },
  })
}
