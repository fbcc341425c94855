// Computes the pauses between attempts of one request to the token API. A rate limit (429) or an overload (503) usually passes within seconds.
import { backoff, type BackoffOptions } from '../../lib/backoff.ts'
import type { Clock } from '../../lib/clock.ts'

export interface RetryPauses extends BackoffOptions {
  /** Maximum sum of the pauses of one request, ms. It must be less than the lease of a rotation's target, which is not renewed meanwhile. */
  readonly maxTotal: number
  readonly clock: Clock
}

export interface Pauses {
  /** Waits before the next attempt. Answers false if another attempt is useless or the wait would be too long. */
  rest(refusal: { readonly status?: number | undefined; readonly retryAfter?: number | undefined }): Promise<boolean>
}

/** The pauses that commands use. */
export const commandPauses = { first: 500, max: 8_000, maxTotal: 30_000 }

export function createPauses(rules: RetryPauses | undefined): Pauses {
  let tries = 0
  let total = 0
  return {
    rest: async ({ status, retryAfter }) => {
      if (rules === undefined || (status !== 429 && status !== 503)) return false
      const pause = Math.max(retryAfter ?? 0, backoff((tries += 1), rules))
      if (total + pause > rules.maxTotal) return false
      total += pause
      await rules.clock.sleep(pause)
      return true
    },
  }
}
