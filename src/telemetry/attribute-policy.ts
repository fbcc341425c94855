// Applies the configured policy to attributes of all signals: some are dropped, hashed or cut.
import { createHash } from 'node:crypto'
import { globs } from '../lib/chooser.ts'
import type { AttributeValue } from './otlp/attribute-value.ts'

export interface AttributePolicyOptions {
  /** Names or glob patterns of attributes that are left out; these win over `hash`. */
  readonly drop?: readonly string[] | undefined
  /** Names or glob patterns of attributes whose values are replaced by a digest. */
  readonly hash?: readonly string[] | undefined
  /** The longest string value, in UTF-16 code units; 4096 by default. */
  readonly valueLengthLimit?: number | undefined
}

/** What is done to an attribute's value before export. */
export type AttributeRule = (value: AttributeValue) => AttributeValue

/** The rule for a name as exported, with the vendor's namespace; undefined if it is dropped. */
export type AttributePolicy = (key: string) => AttributeRule | undefined

export const defaultValueLengthLimit = 4096

export function attributePolicy(options: AttributePolicyOptions): AttributePolicy {
  const limit = options.valueLengthLimit ?? defaultValueLengthLimit
  const isDropped = globs(options.drop ?? [])
  const isHashed = globs(options.hash ?? [])
  const cuts: AttributeRule = value => shortened(value, limit)
  const hashes: AttributeRule = value => cuts(digestOf(value))
  return key => {
    if (isDropped(key)) return undefined
    return isHashed(key) ? hashes : cuts
  }
}

/**
 * The first 16 bytes of the SHA-256 of the value's string form, as hex: equal values stay equal, so they can still be
 * counted. An array's string form is its JSON.
 */
function digestOf(value: AttributeValue): string {
  const text = isList(value) ? JSON.stringify(value) : String(value)
  return createHash('sha256').update(text).digest().toString('hex', 0, 16)
}

function shortened(value: AttributeValue, limit: number): AttributeValue {
  if (typeof value === 'string') return cut(value, limit)
  return isList(value) ? value.map(item => (typeof item === 'string' ? cut(item, limit) : item)) : value
}

/** Never splits a code point, as not all backends take invalid UTF-8. */
export function cut(text: string, limit: number): string {
  const whole = text.toWellFormed()
  if (whole.length <= limit) return whole
  const last = whole.charCodeAt(limit - 1)
  return whole.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit)
}

function isList(value: AttributeValue): value is Extract<AttributeValue, readonly unknown[]> {
  return Array.isArray(value)
}
