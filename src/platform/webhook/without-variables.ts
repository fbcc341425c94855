// What may be stored of a delivery that could not be decoded: everything but its pipeline variables, which may be secrets.
import { backslash, beginOf, expectEnd, NotJson, skipSpace, skipString, skipValue, type Visitor } from './json-walk.ts'

/** Bytes stored of a body that is not JSON. */
export const keptOfText = 4_096

/** Of a key that is written in escapes; a longer one is another. */
const longestKey = 6 * 'variables'.length + 2

/**
 * The body without any field named `variables`, however deep; all else byte for byte. What is not JSON is cut to its first
 * 4 KiB, and before the first mention of variables. Takes as much memory as the body, whatever is in it.
 */
export function withoutVariables(body: Uint8Array): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const from = beginOf(bytes)
  try {
    const cuts = new Cuts(bytes, from)
    const to = skipValue(bytes, from, cuts)
    expectEnd(bytes, to)
    return cuts.upTo(to)
  } catch (error) {
    if (error instanceof NotJson) return beginningOf(body)
    throw error
  }
}

/** The first 4 KiB, and none of its variables. */
export function beginningOf(body: Uint8Array): Uint8Array {
  const beginning = body.subarray(0, keptOfText)
  const variables = Buffer.from(beginning).indexOf('variables')
  return variables === -1 ? beginning : beginning.subarray(0, variables)
}

/** Copies what stays, once the first field is left out. */
class Cuts implements Visitor {
  readonly #bytes: Buffer
  #copied: Buffer | undefined
  #length = 0
  /** Where what is not copied yet begins. */
  #from: number
  #cutFrom = 0
  /** True while nothing of its object was copied before the last field that was left out. */
  #isLeading = false

  constructor(bytes: Buffer, from: number) {
    this.#bytes = bytes
    this.#from = from
  }

  member(key: number, _value: number, comma: number | undefined): boolean {
    const isFirst = comma === undefined
    const isLeading = isFirst || (this.#isLeading && skipSpace(this.#bytes, this.#from) === comma)
    if (!isVariables(this.#bytes, key)) {
      // The comma stood between it and nothing but what was left out.
      if (isLeading && !isFirst) this.#from = key
      return false
    }
    this.#isLeading = isLeading
    this.#cutFrom = comma ?? key
    return true
  }

  passed(end: number): void {
    this.#copied ??= Buffer.allocUnsafeSlow(this.#bytes.length)
    this.#copyUpTo(this.#copied, this.#cutFrom)
    this.#from = end
  }

  /** All that stays, the value ending here. */
  upTo(end: number): Uint8Array {
    if (this.#copied === undefined) return this.#bytes.subarray(this.#from, end)
    this.#copyUpTo(this.#copied, end)
    return this.#copied.subarray(0, this.#length)
  }

  #copyUpTo(copied: Buffer, to: number): void {
    if (to > this.#from) this.#length += this.#bytes.copy(copied, this.#length, this.#from, to)
  }
}

function isVariables(bytes: Buffer, key: number): boolean {
  const first = bytes[key + 1]
  if (first !== backslash && first !== 0x76) return false
  const end = skipString(bytes, key)
  return end - key <= longestKey && JSON.parse(bytes.toString('latin1', key, end)) === 'variables'
}
