// Parses the Retry-After header (RFC 9110, 10.2.3), which contains seconds or an HTTP date. An HTTP date has three forms (5.6.7).

/** The maximum wait in ms. If a server requests a longer wait, this is more likely a mistake than intended. */
const maxRetryAfter = 24 * 3_600_000

/**
 * Returns how many ms to wait, at most a day. `now` is the server's time if its response has a Date header. Returns undefined if the header is absent
 * or invalid, or if its time is in the past. In that case the caller chooses the pause.
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

/**
 * Parses an HTTP date into Unix time in ms. Returns undefined if the header is absent or is not an HTTP date. `Date.parse` alone would accept "-5" as
 * a day in May.
 */
export function httpDate(header: string | undefined): number | undefined {
  const text = header?.trim() ?? ''
  if (!forms.some(form => form.test(text))) return undefined
  // The third form of an HTTP date (asctime) has no time zone. Its time is in GMT.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? undefined : at
}
