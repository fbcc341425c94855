// Reads single JSON values. Each function answers undefined for null and for a value of the wrong type; for a flag null is false.
import { isKnownStatus } from '../model/status.ts'
import { parseWireTime } from './wire-time.ts'
import { createTextRedaction, maxSecret, redactedTo } from '../lib/text-redaction.ts'
import { withoutControls } from '../lib/plain-text.ts'

export type Read<T> = (value: unknown) => T | undefined

/** Maximum length of names, refs and the like, UTF-16 units; longer ones are cut. */
export const maxText = 1_024
/** Maximum length of a commit message, UTF-16 units; longer ones are cut. */
export const maxMessage = 65_536
/** Maximum length of a URL. Longer ones are dropped and not cut, because a cut URL leads elsewhere. */
const maxUrlLength = 4_096
/** Maximum number of items in a list of stages, tags and the like. */
export const maxList = 1_000
/** Maximum duration, about 30,000 years. A longer one is an error and does not fit into milliseconds. */
const maxSeconds = 1e12

/** A positive safe integer, also if it is written as a string of digits. */
export const readId: Read<number> = value => {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(id) && (id as number) > 0 ? (id as number) : undefined
}

/** A text that is not blank. Control sequences, and characters that databases or encoders refuse, are removed. */
export const readText: Read<string> = value => textUpTo(maxText, value)

/**
 * A text that will be redacted before it is cut, so that `maxSecret` more units are kept, and its control sequences: redaction removes these, because
 * a secret begins where one ends.
 */
export const readLongText: Read<string> = value => rawUpTo(maxText + maxSecret, value)

/** What people write in sentences, such as a title, is redacted. Names are not: other things refer to them. */
export const readTitle: Read<string> = value => redactedUpTo(maxText, value)

export const readMessage: Read<string> = value => redactedUpTo(maxMessage, value)

/** An http(s) URL, without a user. URLs of other schemes are dropped, because URLs become links on pages. */
export const readUrl: Read<string> = value =>
  typeof value === 'string' && value.length <= maxUrlLength && /^https?:\/\/[^\s"'<>\p{C}]+$/iu.test(value)
    ? value.replace(/^(https?:\/\/)[^/?#]*@/i, '$1')
    : undefined

/** A status, also one that this version does not know. */
export const readStatus: Read<string> = value => {
  if (typeof value !== 'string') return undefined
  if (isKnownStatus(value)) return value
  const status = value.trim()
  return /^[a-z_]{1,64}$/.test(status) || /^\P{C}{1,64}$/u.test(status) ? status : undefined
}

/** On this platform a flag that is null is false; one that is left out is unknown. A list or an object counts as null. */
export const readFlag: Read<boolean> = value =>
  typeof value === 'boolean' ? value : typeof value === 'object' ? false : undefined

/** A number of seconds, which may have a fraction. */
export const readSeconds: Read<number> = value =>
  typeof value === 'number' && value >= 0 && value <= maxSeconds ? value : undefined

/** A percentage, also if it is written as a string of digits. */
export const readPercent: Read<number> = value => {
  const percent = typeof value === 'string' && /^\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value
  return typeof percent === 'number' && Number.isFinite(percent) && percent >= 0 ? percent : undefined
}

/** A number of bytes or of other things. */
export const readCount: Read<number> = value =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined

/** A time, as Unix time in milliseconds. */
export const readTime: Read<number> = parseWireTime

/** A list of texts. Items of other types are omitted. */
export const readTexts: Read<readonly string[]> = value => {
  if (!Array.isArray(value)) return undefined
  const texts: string[] = []
  for (const item of value.length > maxList ? value.slice(0, maxList) : value) {
    const text = readText(item)
    if (text !== undefined) texts.push(text)
  }
  return texts
}

/** The fields of a JSON object. */
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
  const text = value.length > length ? cutTo(length, value) : value.toWellFormed()
  return hasWords(text) ? text : undefined
}

/** Cuts a text. The result is a copy, because a slice would keep the whole string in memory. */
function cutTo(length: number, text: string): string {
  return Buffer.from(text.slice(0, length)).toString()
}

/** Whether a text has a character other than white space. The first comparison is a fast path: most texts begin with a letter. */
function hasWords(text: string): boolean {
  return text.charCodeAt(0) > 0x20 ? text.charCodeAt(0) < 0x7f || text.trim() !== '' : text.trim() !== ''
}
