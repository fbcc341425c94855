// How the platform spells times: webhooks `2016-08-12 15:23:28 UTC`, deployments `2021-04-28 21:50:00 +0200`, REST and the
// webhooks' Test button ISO 8601, with or without a fraction.
import type { Millis } from '../model/instant.ts'

const spelling =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(?:(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))?$/i

/** Times outside of these years are mistakes of a clock or of a sender; they also fit into 64 bits of nanoseconds. */
const earliestYear = 1971
const latestYear = 2261

/**
 * Reads a time off the wire. A time without a zone is UTC, as all else that the platform says. Anything that is no such time
 * is undefined: not a string, an impossible date (30 February), a year before 1971 or after 2261.
 */
export function parseWireTime(text: unknown): Millis | undefined {
  if (typeof text !== 'string') return undefined
  const match = spelling.exec(text.trim())
  if (match === null) return undefined
  const [, year, month, day, hour, minute, s, fraction = '', , sign, offsetHours = '0', offsetMinutes = '0'] = match
  const local = new Date(0)
  local.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  local.setUTCHours(Number(hour), Number(minute), Number(s), Number(fraction.slice(0, 3).padEnd(3, '0')))
  // A date that does not exist rolls over into another one, and so reads differently afterwards.
  const exists = local.toISOString().startsWith(`${year}-${month}-${day}T${hour}:${minute}:${s}`)
  if (!exists || Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  const time = sign === '-' ? local.getTime() + offset : local.getTime() - offset
  const utcYear = new Date(time).getUTCFullYear()
  return utcYear < earliestYear || utcYear > latestYear ? undefined : time
}
