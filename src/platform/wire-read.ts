// Reads single JSON values. Each function returns undefined for null and for a value of the wrong type, except that a null flag is read as false.
// Object readers are built from tables that define which field contains which fact and how its value is read.
import { isKnownStatus } from '../model/status.ts'
import { createTextRedaction, maxSecret, redactedTo } from '../lib/text-redaction.ts'
import { truncated, withoutControls } from '../lib/plain-text.ts'
import type { Millis } from '../model/instant.ts'

export type Read<T> = (value: unknown) => T | undefined

/** Maximum length of names, refs and similar strings, UTF-16 units. Longer strings are truncated. */
export const maxText = 1_024
/** Maximum length of a commit message, UTF-16 units. Longer messages are truncated. */
export const maxMessage = 65_536
/** Maximum length of a URL. Longer URLs are dropped rather than truncated, because a truncated URL leads elsewhere. */
const maxUrlLength = 4_096
/** Maximum number of items in a list, such as stages or tags. */
export const maxList = 1_000
/** Maximum duration in seconds, about 30,000 years. A longer duration is an error, and its milliseconds may not fit into a safe integer. */
const maxSeconds = 1e12

/** Reads a positive safe integer, which may be written as a string of digits. */
export const readId: Read<number> = value => {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(id) && (id as number) > 0 ? (id as number) : undefined
}

/** Reads a string that is not blank. Control sequences, and characters that databases or encoders reject, are removed. */
export const readText: Read<string> = value => textUpTo(maxText, value)

/**
 * Reads a string that will be redacted before it is truncated. Therefore an additional `maxSecret` units are kept. Control sequences are also kept;
 * redaction removes them, because a secret may begin where one ends.
 */
export const readLongText: Read<string> = value => rawUpTo(maxText + maxSecret, value)

/** Reads free text written by people, such as a title, and redacts it. Names are not redacted, because other data refers to them. */
export const readTitle: Read<string> = value => redactedUpTo(maxText, value)

export const readMessage: Read<string> = value => redactedUpTo(maxMessage, value)

/** Reads an http(s) URL and removes any user name from it. URLs with other schemes are dropped, because URLs become links on pages. */
export const readUrl: Read<string> = value =>
  typeof value === 'string' && value.length <= maxUrlLength && /^https?:\/\/[^\s"'<>\p{C}]+$/iu.test(value)
    ? value.replace(/^(https?:\/\/)[^/?#]*@/i, '$1')
    : undefined

/** Reads a status. Statuses that this version does not know are accepted, too. */
export const readStatus: Read<string> = value => {
  if (typeof value !== 'string') return undefined
  if (isKnownStatus(value)) return value
  const status = value.trim()
  return /^[a-z_]{1,64}$/.test(status) || /^\P{C}{1,64}$/u.test(status) ? status : undefined
}

/** Reads a flag. On this platform a null flag means false, while a missing one is unknown. A list or an object counts as null. */
export const readFlag: Read<boolean> = value =>
  typeof value === 'boolean' ? value : typeof value === 'object' ? false : undefined

/** Reads a number of seconds, which may have a fraction. */
export const readSeconds: Read<number> = value =>
  typeof value === 'number' && value >= 0 && value <= maxSeconds ? value : undefined

/** Reads a percentage, which may be written as a string of digits. */
export const readPercent: Read<number> = value => {
  const percent = typeof value === 'string' && /^\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value
  return typeof percent === 'number' && Number.isFinite(percent) && percent >= 0 ? percent : undefined
}

/** Reads a count, such as a number of bytes. */
export const readCount: Read<number> = value =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined

/** Reads a time as Unix time in milliseconds. */
export const readTime: Read<number> = parseWireTime

/** Reads a list of strings. Items of other types are omitted. */
export const readTexts: Read<readonly string[]> = value => {
  if (!Array.isArray(value)) return undefined
  const texts: string[] = []
  for (const item of value.length > maxList ? value.slice(0, maxList) : value) {
    const text = readText(item)
    if (text !== undefined) texts.push(text)
  }
  return texts
}

export type WireObject = Readonly<Record<string, unknown>>

export const readObject: Read<WireObject> = value =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as WireObject) : undefined

const redactText = createTextRedaction([])

function redactedUpTo(length: number, value: unknown): string | undefined {
  const text = rawUpTo(length + maxSecret, value)
  return text === undefined ? undefined : redactedTo(length, text, redactText)
}

function textUpTo(length: number, value: unknown): string | undefined {
  const raw = rawUpTo(length, value)
  if (raw === undefined) return undefined
  const text = withoutControls(raw)
  return text === raw || hasWords(text) ? text : undefined
}

function rawUpTo(length: number, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = truncated(value, length)
  return hasWords(text) ? text : undefined
}

/** Whether a string contains anything other than white space. The first comparison is a fast path, because most strings begin with a letter. */
function hasWords(text: string): boolean {
  return text.charCodeAt(0) > 0x20 ? text.charCodeAt(0) < 0x7f || text.trim() !== '' : text.trim() !== ''
}

const spelling =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(?:(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))?$/i

/** A time outside the years from `earliestYear` to `latestYear` is an error. Within these years, nanoseconds fit into 64 bits. */
const earliestYear = 1971
const latestYear = 2261

/**
 * Parses a time. Returns undefined unless the value is a string with an existing date in the years 1971 to 2261. A time without a time zone is read
 * as UTC.
 */
export function parseWireTime(text: unknown): Millis | undefined {
  if (typeof text !== 'string') return undefined
  return commonForm(text) ?? anyTime(text)
}

/**
 * Parses times such as `2016-08-12 15:23:28 UTC`. This is a fast path, because every webhook contains dozens of them. It is ten times faster than the
 * regular expression.
 */
function commonForm(text: string): Millis | undefined {
  if (text.length !== 23 || !text.endsWith(' UTC')) return undefined
  if (text[4] !== '-' || text[7] !== '-' || text[10] !== ' ' || text[13] !== ':' || text[16] !== ':') return undefined
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  const hour = twoDigits(text, 11)
  const minute = twoDigits(text, 14)
  const seconds = twoDigits(text, 17)
  // The fast path accepts only days that exist in every month, and years within the limits. Everything else, including NaN, is left to `anyTime`.
  if (!(year > earliestYear && year < latestYear && month >= 1 && month <= 12 && day >= 1 && day <= 28))
    return undefined
  if (!(hour <= 23 && minute <= 59 && seconds <= 59)) return undefined
  return Date.UTC(year, month - 1, day, hour, minute, seconds)
}

/** Returns the number formed by two digits; NaN if either character is not a digit. */
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
  // `Date` would silently convert a non-existent date into another one.
  const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!exists || hour > 23 || minute > 59 || seconds > 59) return undefined
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  const time = sign === '-' ? local + offset : local - offset
  const utcYear = new Date(time).getUTCFullYear()
  return utcYear < earliestYear || utcYear > latestYear ? undefined : time
}

/** The table of an object's facts. Each row contains the name of the JSON field and the reader for its value. */
export type Fields<T> = { readonly [K in keyof T]?: readonly [field: string, read: Read<NonNullable<T[K]>>] }

/** Returns a function that reads the facts of an object. All required facts of `T` must be in the table. */
export function fieldsOf<T extends object>(fields: Fields<T>): (from: WireObject) => Partial<T> {
  const rows = (Object.entries(fields) as [keyof T, readonly [string, Read<T[keyof T]>]][]).map(
    ([name, [field, read]]) => ({ name, field, read }),
  )
  return from => {
    const facts: Partial<T> = {}
    for (const { name, field, read } of rows) {
      const given = from[field]
      if (given === undefined) continue
      const value = read(given)
      if (value !== undefined) facts[name] = value
    }
    return facts
  }
}

/** Returns an object reader that returns undefined if one of the `needed` facts is missing. */
export function record<T extends object>(needed: readonly (keyof T)[], fields: Fields<T>): Read<T> {
  const read = fieldsOf(fields)
  return value => {
    const from = readObject(value)
    if (from === undefined) return undefined
    const facts = read(from)
    return needed.every(name => facts[name] !== undefined) ? (facts as T) : undefined
  }
}

/** Returns an object reader that returns undefined if the object has none of the facts. */
export function anyOf<T extends object>(fields: Fields<T>): Read<T> {
  const read = record<T>([], fields)
  return value => {
    const facts = read(value)
    for (const _ in facts) return facts
    return undefined
  }
}
