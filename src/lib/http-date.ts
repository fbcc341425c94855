// The HTTP date (RFC 9110, 5.6.7) in its three forms. `Date.parse` alone would take "-5" for a day in May.

const day = '(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)'
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const time = String.raw`\d\d:\d\d:\d\d`
const forms = [
  new RegExp(String.raw`^${day}, \d\d ${month} \d{4} ${time} GMT$`),
  new RegExp(String.raw`^${day}day, \d\d-${month}-\d\d ${time} GMT$`),
  new RegExp(String.raw`^${day} ${month} [\d ]\d ${time} \d{4}$`),
]

/** Milliseconds of Unix time; undefined when the header is absent or no HTTP date. */
export function httpDate(header: string | undefined): number | undefined {
  const text = header?.trim() ?? ''
  if (!forms.some(form => form.test(text))) return undefined
  // The third form (asctime) names no zone, and means GMT.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? undefined : at
}
