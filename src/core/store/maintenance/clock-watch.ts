// Notices when the store's clock was ahead, even for a moment. Then, and at the start, it makes due what was scheduled too far in the future (`bringBack`).
import { createLoop, type Loop } from '../../../lib/loop.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Log } from '../../../lib/log.ts'
import type { Store } from '../ports/store.ts'

export interface ClockWatchOptions {
  readonly store: Pick<Store, 'clockWasAhead' | 'bringBack'>
  readonly clock: Clock
  readonly log: Log
}

/** Between two checks, ms. */
const every = 2_000
/** Smaller differences may come from a slow answer of the database, ms. */
const tolerance = 1_000

export function createClockWatch({ store, clock, log }: ClockWatchOptions): Loop {
  /** Rows may be due at an impossible time. */
  let mayWait = true
  return createLoop({
    name: 'clock watch',
    clock,
    log,
    turn: async () => {
      mayWait ||= (await store.clockWasAhead()) > tolerance
      if (mayWait) {
        const rows = await store.bringBack()
        if (rows > 0) log.warn({ rows }, 'a clock was ahead: work scheduled too far in the future is due now')
      }
      mayWait = false
      return every
    },
  })
}
