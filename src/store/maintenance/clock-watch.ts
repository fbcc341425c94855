// Notices when the store's clock is set back. Then, and at the start, it makes due what was scheduled too far in the future (`bringBack`).
import { createLoop, type Loop } from '../../lib/loop.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Store } from '../ports/store.ts'

export interface ClockWatchOptions {
  readonly store: Pick<Store, 'now' | 'bringBack'>
  readonly clock: Clock
  readonly log: Log
}

/** Between two looks, ms. */
const every = 2_000
/** Smaller differences may come from a slow answer of the database, ms. */
const tolerance = 1_000

export function createClockWatch({ store, clock, log }: ClockWatchOptions): Loop {
  /** The store's time minus the process's monotonic time. */
  let before = Infinity
  return createLoop({
    name: 'clock watch',
    clock,
    log,
    turn: async () => {
      const ahead = (await store.now()) - performance.now()
      if (ahead < before - tolerance) {
        const rows = await store.bringBack()
        if (rows > 0) log.warn({ rows }, 'a clock was ahead: work scheduled too far in the future is due now')
      }
      before = ahead
      return every
    },
  })
}
