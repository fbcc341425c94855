// The Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date.

/** Milliseconds to wait from `now`, undefined when the header is absent or makes no sense. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
