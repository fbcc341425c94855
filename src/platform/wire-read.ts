// Readers of single JSON values. Each answers undefined for null and for a wrong type.
import { isKnownStatus } from '../model/status.ts'
import { parseWireTime } from './wire-time.ts'
import { maxSecret } from './text-redaction.ts'
import { shaped } from './webhook/wire-shape.ts'

export type Read<T> = (value: unknown) => T | undefined

/** Longer names, refs and the like are cut, UTF-16 units. */
export const maxText = 1_024
/** Longer commit messages are cut. */
export const maxMessage = 65_536
/** Longer URLs are dropped: cut, they would lead elsewhere. */
const maxUrlLength = 4_096
/** Most stages, tags and the like of one list. */
export const maxList = 1_000
/** Some 30,000 years: longer durations are errors and do not fit into milliseconds. */
const maxSeconds = 1e12

/** A positive safe integer, also given as digits. */
export const readId: Read<number> = value => {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(id) && (id as number) > 0 ? (id as number) : undefined
}

/** Text that is not blank, without characters that databases or encoders refuse. */
export const readText: Read<string> = value => textUpTo(maxText, value)

/** Text that is redacted before it is cut. */
export const readLongText: Read<string> = value => textUpTo(maxText + maxSecret, value)

export const readMessage: Read<string> = value => textUpTo(maxMessage, value)

/** An http(s) URL. Others are dropped, as URLs become links on pages. */
export const readUrl: Read<string> = value =>
  typeof value === 'string' && value.length <= maxUrlLength && /^https?:\/\/[^\s"'<>]+$/i.test(value)
    ? value
    : undefined

/** A status, also one that is not known to this version. */
export const readStatus: Read<string> = value => {
  if (typeof value !== 'string') return undefined
  if (isKnownStatus(value)) return value
  const status = value.trim()
  return /^[a-z_]{1,64}$/.test(status) || /^\P{C}{1,64}$/u.test(status) ? status : undefined
}

export const readFlag: Read<boolean> = value => (typeof value === 'boolean' ? value : undefined)

/** Seconds, with fractions. */
export const readSeconds: Read<number> = value =>
  typeof value === 'number' && value >= 0 && value <= maxSeconds ? value : undefined

/** Percent, as a number or as digits. */
export const readPercent: Read<number> = value => {
  const percent = typeof value === 'string' && /^\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value
  return typeof percent === 'number' && Number.isFinite(percent) && percent >= 0 ? percent : undefined
}

/** A count of bytes or the like. */
export const readCount: Read<number> = value =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined

/** Unix time in milliseconds. */
export const readTime: Read<number> = parseWireTime

/** A list of texts; other items are left out. */
export const readTexts: Read<readonly string[]> = shaped(value => {
  if (!Array.isArray(value)) return undefined
  const texts: string[] = []
  for (const item of value.length > maxList ? value.slice(0, maxList) : value) {
    const text = readText(item)
    if (text !== undefined) texts.push(text)
  }
  return texts
}, 'texts')

/** The fields of a JSON object. */
export type WireObject = Readonly<Record<string, unknown>>

export const readObject: Read<WireObject> = value =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as WireObject) : undefined

function textUpTo(length: number, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.length > length ? cutTo(length, value) : sound(value)
  return hasWords(text) ? text : undefined
}

/** A copy, because a slice would keep the whole string in memory. */
function cutTo(length: number, text: string): string {
  return Buffer.from(text.slice(0, length).replaceAll('\0', '')).toString()
}

function sound(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed()
}

/** Quick for most texts, which do not begin with white space. */
function hasWords(text: string): boolean {
  return text.charCodeAt(0) > 0x20 ? text.charCodeAt(0) < 0x7f || text.trim() !== '' : text.trim() !== ''
}
