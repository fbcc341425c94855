// Reads the platform's rate limit from an answer's headers: `RateLimit-Remaining`, `RateLimit-Reset`, `Retry-After`.
import { httpDate, retryAfter } from '../../lib/retry-after.ts'
import { knownOf } from '../../model/versioned.ts'
import type { Millis } from '../../model/instant.ts'
import type { BudgetFacts } from '../port/budget.ts'

/** Smaller values of `RateLimit-Reset` are seconds from now, as in the IETF draft. Larger ones are Unix times. */
const minUnixTime = 1_000_000_000

/** True for a rate limit (429) or an overload (503): in both cases `Retry-After` applies to all requests. */
function asksForPause(status: number): boolean {
  return status === 429 || status === 503
}

/**
 * True if a 429 comes from the rate limit of one endpoint: such an answer is JSON and lacks the headers of the general rate limit. `keys`: the keys
 * of the answer's JSON body.
 */
export function isOfEndpoint(
  status: number | undefined,
  headers: Readonly<Record<string, string>>,
  keys: readonly string[],
): boolean {
  const hasGeneralLimit = Object.keys(headers).some(name => name.startsWith('ratelimit-'))
  return status === 429 && !hasGeneralLimit && (keys.includes('message') || keys.includes('error'))
}

/**
 * The rate limit as durations. `RateLimit-Reset` is a Unix time on the platform's clock, so it is compared with the answer's own `Date`. After a
 * 429 the pause is at least `minPause` ms.
 */
export function budgetFactsOf(
  status: number,
  headers: Readonly<Record<string, string>>,
  now: Millis,
  minPause: number,
): BudgetFacts {
  const platformNow = servedAt(headers) ?? now
  const remaining = count(headers['ratelimit-remaining'])
  const resetIn = untilReset(count(headers['ratelimit-reset']), platformNow)
  const asked = asksForPause(status) ? retryAfter(headers['retry-after'], platformNow) : undefined
  const pause = status === 429 ? Math.max(minPause, asked ?? resetIn ?? 0) : asked
  return knownOf({ remaining, resetIn, pause })
}

/** The time on the platform's clock when it answered. */
export function servedAt(headers: Readonly<Record<string, string>>): Millis | undefined {
  return httpDate(headers.date)
}

function untilReset(reset: number | undefined, platformNow: Millis): number | undefined {
  if (reset === undefined) return undefined
  return Math.max(0, reset < minUnixTime ? reset * 1000 : reset * 1000 - platformNow)
}

function count(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header.trim()) ? Number(header) : undefined
}
