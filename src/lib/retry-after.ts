// The Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date.
import { httpDate } from './http-date.ts'

/** A longer one is a mistake of who sends it rather than a plan, ms. */
export const longestRetryAfter = 24 * 3_600_000

/**
 * Milliseconds to wait from `now`, the sender's own time where it names it; at most a day. Undefined when the header is
 * absent, is neither form, or names a time that is over: then the caller's own pause applies.
 */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(longestRetryAfter, Number(text) * 1000)
  const wait = (httpDate(text) ?? now) - now
  return wait > 0 ? Math.min(longestRetryAfter, wait) : undefined
}
