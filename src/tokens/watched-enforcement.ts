// The state of enforcement for the pages, without waiting for the observability instance: answers the last known state, and asks again
// in the background when that is old.
import { elapsed, type Clock } from '../lib/clock.ts'

/** `unknown`: not asked yet, or no answer. */
export type Enforcement = 'on' | 'off' | 'unknown'

/** How long an answer is used, ms. */
const believed = 60_000

/** `ask`: whether enforcement is on; rejects if the instance does not answer. */
export function watchEnforcement(ask: () => Promise<boolean>, clock: Clock): () => Enforcement {
  let last: Enforcement = 'unknown'
  let askedAt = -Infinity

  async function renew(): Promise<void> {
    try {
      last = (await ask()) ? 'on' : 'off'
    } catch {
      last = 'unknown'
    }
  }

  return () => {
    if (elapsed(clock) - askedAt >= believed) {
      askedAt = elapsed(clock)
      void renew()
    }
    return last
  }
}
