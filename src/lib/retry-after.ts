// The Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date, which has three forms (5.6.7).

/** Maximum wait, ms. A longer one is a mistake of the server rather than a plan. */
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

const day = '(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)'
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const time = String.raw`\d\d:\d\d:\d\d`
const forms = [
  new RegExp(String.raw`^${day}, \d\d ${month} \d{4} ${time} GMT$`),
  new RegExp(String.raw`^${day}day, \d\d-${month}-\d\d ${time} GMT$`),
  new RegExp(String.raw`^${day} ${month} [\d ]\d ${time} \d{4}$`),
]

/** Milliseconds of Unix time; undefined if the header is absent or not an HTTP date. `Date.parse` alone would take "-5" for a day in May. */
export function httpDate(header: string | undefined): number | undefined {
  const text = header?.trim() ?? ''
  if (!forms.some(form => form.test(text))) return undefined
  // The third form (asctime) names no zone, and means GMT.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? undefined : at
}
