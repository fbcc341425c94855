// Removes pipeline variables, which may be secrets, from a delivery that could not be decoded, so that it can be stored.
import {
  backslash,
  beginOf,
  expectEnd,
  NotJson,
  skipInTurns,
  skipSpace,
  skipString,
  type Visitor,
} from './json-walk.ts'
import type { Turns } from './turns.ts'

/** Bytes that are kept of a body that is not JSON. */
export const keptOfText = 4_096

/** The key `variables` with all letters escaped; longer keys are others. */
const maxKeyLength = 6 * 'variables'.length + 2

/**
 * The body without fields named `variables`, at any depth; all else stays byte for byte. A body that is not JSON is cut to its first 4 KiB, and
 * before the word `variables`; with `onlyBeginning` every body is. Needs as much memory as the body.
 */
export function* withoutVariables(body: Uint8Array, onlyBeginning = false): Turns<Uint8Array> {
  if (onlyBeginning) return beginningOf(body)
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const from = beginOf(bytes)
  try {
    const cuts = new Cuts(bytes, from)
    const to = yield* skipInTurns(bytes, from, cuts)
    expectEnd(bytes, to)
    return cuts.upTo(to)
  } catch (error) {
    if (error instanceof NotJson) return beginningOf(body)
    throw error
  }
}

/** The first 4 KiB, cut before the word `variables`. */
function beginningOf(body: Uint8Array): Uint8Array {
  const beginning = body.subarray(0, keptOfText)
  const variables = Buffer.from(beginning).indexOf('variables')
  return variables === -1 ? beginning : beginning.subarray(0, variables)
}

/** Copies what remains, from the first removed field on. */
class Cuts implements Visitor {
  readonly #bytes: Buffer
  #copied: Buffer | undefined
  #length = 0
  /** Where the part begins that is not copied yet. */
  #from: number
  #cutFrom = 0
  /** True if the last removed field was the first of its object, apart from other removed ones. */
  #isLeading = false

  constructor(bytes: Buffer, from: number) {
    this.#bytes = bytes
    this.#from = from
  }

  member(key: number, _value: number, comma: number | undefined): boolean {
    const isFirst = comma === undefined
    const isLeading = isFirst || (this.#isLeading && skipSpace(this.#bytes, this.#from) === comma)
    if (!isVariables(this.#bytes, key)) {
      // All fields before it were removed, so its comma must go too.
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

  /** All that remains; the value ends here. */
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
  return end - key <= maxKeyLength && JSON.parse(bytes.toString('latin1', key, end)) === 'variables'
}
