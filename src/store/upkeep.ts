// Upkeep of the store: forgets what it no longer needs, in small steps, and says what it forgot.
import { createLoop, type Loop } from '../lib/loop.ts'
import { keyMemory } from './inbox.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Store } from './store.ts'

export interface UpkeepOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
}

/** Between two rounds, ms. */
const every = 600_000

export function createUpkeep({ store, clock, log }: UpkeepOptions): Loop {
  return createLoop({
    name: 'upkeep',
    clock,
    log,
    turn: async () => {
      const keys = await store.inbox.pruneKeys(clock.now() - keyMemory)
      if (keys > 0) {
        await store.counters.add('pruned.delivery_keys', keys)
        log.info({ keys }, 'forgot idempotency keys older than a week')
      }
      return every
    },
  })
}
