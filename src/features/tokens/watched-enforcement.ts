// Gives the pages the state of enforcement without waiting for the observability instance. It answers the last known state, and requests a new one in
// the background if that is old.
import { elapsed, type Clock } from '../../lib/clock.ts'

/** `unknown`: the instance was not asked yet, or did not answer. */
export type Enforcement = 'on' | 'off' | 'unknown'

/** Time for which an answer is used, ms. */
const maxAge = 60_000

/** `ask` reads whether enforcement is on, and rejects if the instance does not answer. */
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
    if (elapsed(clock) - askedAt >= maxAge) {
      askedAt = elapsed(clock)
      void renew()
    }
    return last
  }
}
