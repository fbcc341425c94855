// The Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date.
import { httpDate } from './http-date.ts'

/** A longer wait is a mistake of the server rather than a plan, ms. */
const maxRetryAfter = 24 * 3_600_000

/**
 * Milliseconds to wait, at most a day. `now`: the server's time where its answer has a Date header. Undefined when the header is
 * absent, in neither form, or names a time in the past: then the caller's own pause applies.
 */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Math.min(maxRetryAfter, Number(text) * 1000)
  const wait = (httpDate(text) ?? now) - now
  return wait > 0 ? Math.min(maxRetryAfter, wait) : undefined
}
