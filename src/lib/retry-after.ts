// The Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date, in the one form that is still
// generated (5.6.7).

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

const form = /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/

/** Milliseconds of Unix time; undefined when the header is absent or no HTTP date. `Date.parse` alone would take "-5" for a day in May. */
export function httpDate(header: string | undefined): number | undefined {
  const text = header?.trim() ?? ''
  const at = form.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(at) ? undefined : at
}
