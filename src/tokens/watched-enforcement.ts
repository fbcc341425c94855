// Whether the observability instance drops telemetry without a token, by its last answer. Nobody waits for the instance: whoever wants to know
// gets the last answer, and an old one is renewed meanwhile.
import { elapsed, type Clock } from '../lib/clock.ts'

/** `unknown`: not asked yet, or it did not answer. */
export type Enforcement = 'on' | 'off' | 'unknown'

/** How long an answer is believed, ms. */
const believed = 60_000

/** `ask`: true where telemetry without a token is dropped; rejects where the instance does not answer. */
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
