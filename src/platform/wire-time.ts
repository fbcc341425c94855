// Parses the platform's times. Webhooks have `2016-08-12 15:23:28 UTC`, deployments `2021-04-28 21:50:00 +0200`, REST and the webhooks' Test button
// ISO 8601. Each may have a fraction.
import type { Millis } from '../model/instant.ts'

const spelling =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(?:(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))?$/i

/** A time outside of these years is an error. Within them, nanoseconds fit into 64 bits. */
const earliestYear = 1971
const latestYear = 2261

/** Answers undefined unless the value is a string with a possible date of the years 1971 to 2261. A time without a zone is UTC. */
export function parseWireTime(text: unknown): Millis | undefined {
  if (typeof text !== 'string') return undefined
  return commonForm(text) ?? anyTime(text)
}

/** A fast path for `2016-08-12 15:23:28 UTC`, because each webhook has dozens of such times. It is ten times faster than the regular expression. */
function commonForm(text: string): Millis | undefined {
  if (text.length !== 23 || !text.endsWith(' UTC')) return undefined
  if (text[4] !== '-' || text[7] !== '-' || text[10] !== ' ' || text[13] !== ':' || text[16] !== ':') return undefined
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  const hour = twoDigits(text, 11)
  const minute = twoDigits(text, 14)
  const seconds = twoDigits(text, 17)
  // Accepts only days that every month has, and years within the limits. Everything else, also NaN, is left to `anyTime`.
  if (!(year > earliestYear && year < latestYear && month >= 1 && month <= 12 && day >= 1 && day <= 28))
    return undefined
  if (!(hour <= 23 && minute <= 59 && seconds <= 59)) return undefined
  return Date.UTC(year, month - 1, day, hour, minute, seconds)
}

/** The number that two digits form; NaN if one of the characters is not a digit. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30
  const ones = text.charCodeAt(at + 1) - 0x30
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN
}

function anyTime(text: string): Millis | undefined {
  const match = spelling.exec(text.trim())
  if (match === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, seconds = 0] = match.slice(1, 7).map(Number)
  const [fraction = '', , sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(7)
  const millis = Number(fraction.slice(0, 3).padEnd(3, '0'))
  const local = Date.UTC(year, month - 1, day, hour, minute, seconds, millis)
  const date = new Date(local)
  // `Date` turns a date that does not exist into another one.
  const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!exists || hour > 23 || minute > 59 || seconds > 59) return undefined
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  const time = sign === '-' ? local + offset : local - offset
  const utcYear = new Date(time).getUTCFullYear()
  return utcYear < earliestYear || utcYear > latestYear ? undefined : time
}
