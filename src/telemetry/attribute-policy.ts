// What the operator has a say in: attributes left out, hashed or cut short, in every signal alike.
import { createHash } from 'node:crypto'
import picomatch from 'picomatch'

/** What an attribute may hold here: no maps, no bytes. */
export type AttributeValue = string | number | boolean | readonly (string | number | boolean)[]

export interface AttributePolicyOptions {
  /** Names or glob patterns of attributes that are left out; these win over `hash`. */
  readonly drop?: readonly string[] | undefined
  /** Names or glob patterns of attributes whose values are replaced by a digest. */
  readonly hash?: readonly string[] | undefined
  /** The longest string value, in UTF-16 code units; 4096 unless told. */
  readonly valueLengthLimit?: number | undefined
}

/** What becomes of the values of one attribute. */
export type AttributeRule = (value: AttributeValue) => AttributeValue

/** The rule for a name, undefined when it may not leave. Names are those that leave, vendor namespace and all. */
export type AttributePolicy = (key: string) => AttributeRule | undefined

export const defaultValueLengthLimit = 4096

export function attributePolicy(options: AttributePolicyOptions): AttributePolicy {
  const limit = options.valueLengthLimit ?? defaultValueLengthLimit
  const isDropped = matcher(options.drop)
  const isHashed = matcher(options.hash)
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
export function digestOf(value: AttributeValue): string {
  const text = isList(value) ? JSON.stringify(value) : String(value)
  return createHash('sha256').update(text).digest().toString('hex', 0, 16)
}

/** Answers are remembered: names come from the tables and the configuration, so there are not many. */
function matcher(patterns: readonly string[] = []): (key: string) => boolean {
  if (patterns.length === 0) return () => false
  const matches = picomatch([...patterns], { dot: true })
  const answers = new Map<string, boolean>()
  return key => {
    const known = answers.get(key)
    if (known !== undefined) return known
    const answer = matches(key)
    answers.set(key, answer)
    return answer
  }
}

function shortened(value: AttributeValue, limit: number): AttributeValue {
  if (typeof value === 'string') return cut(value, limit)
  return typeof value === 'object' ? shortenedList(value, limit) : value
}

/** Apart from the above, which would make the closure's memory for every value. */
function shortenedList(items: readonly (string | number | boolean)[], limit: number): AttributeValue {
  return items.map(item => (typeof item === 'string' ? cut(item, limit) : item))
}

/** Never splits a code point, and never leaves half of one: not every backend takes what is no valid UTF-8. */
export function cut(text: string, limit: number): string {
  const whole = text.toWellFormed()
  if (whole.length <= limit) return whole
  const last = whole.charCodeAt(limit - 1)
  return whole.slice(0, last >= 0xd800 && last < 0xdc00 ? limit - 1 : limit)
}

function isList(value: AttributeValue): value is Exclude<AttributeValue, string | number | boolean> {
  return Array.isArray(value)
}
