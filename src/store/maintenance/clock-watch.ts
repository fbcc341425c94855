// Looks whether the store's clock has gone back, and then, and at the start, brings back what it had put too far ahead.
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
/** Less is what an answer of the database may take, ms. */
const tolerance = 1_000

export function createClockWatch({ store, clock, log }: ClockWatchOptions): Loop {
  /** The store's time less the process's own, which never goes back. */
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
