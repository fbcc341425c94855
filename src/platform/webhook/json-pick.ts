// Reads of JSON only what a shape names, straight from the bytes: whatever else is there is walked over, however much and however
// deep, and costs no memory. What is named is as `JSON.parse` makes it; a list or object where none is wanted is null.
import {
  backslash,
  beginOf,
  closeList,
  closeObject,
  comma,
  expectEnd,
  NotJson,
  openList,
  openObject,
  quote,
  skipKey,
  skipScalar,
  skipSpace,
  skipString,
  skipValue,
} from './json-walk.ts'
import { ItemsInPlace, mostItems } from './wire-items.ts'
import { longestList, longestMessage } from '../wire-read.ts'
import type { ObjectShape, Shape } from './wire-shape.ts'

/** A longer string is cut, bytes: what is left has more UTF-16 units than any reader takes, an escape having six bytes. */
const longestString = 6 * (longestMessage + 2)
/** A smaller item is built as a whole, which is quicker. */
const largeItem = 64 * 1024
/** A longer key is none that anybody reads, bytes: the longest name, all of its letters escaped. */
const longestKey = 6 * 64

/** Throws NotJson. Holds on to the bytes as long as a list of what it answers is not read. */
export function pickJson(body: Uint8Array, shape: Shape): unknown {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const picked = new Picker(bytes, beginOf(bytes))
  const value = picked.value(shape)
  expectEnd(bytes, picked.at)
  return value
}

class Picker {
  readonly #bytes: Buffer
  at: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.at = at
  }

  /** The value that begins here, and on behind it. */
  value(shape: Shape): unknown {
    const first = this.#bytes[this.at]
    if (first === openObject && typeof shape === 'object' && 'fields' in shape) return this.#object(shape)
    if (first === openList && shape === 'texts') return this.#texts()
    if (first === openList && typeof shape === 'object' && 'items' in shape) return this.#items(shape.items)
    if (first !== openObject && first !== openList) return this.#scalar()
    this.at = skipValue(this.#bytes, this.at)
    return null
  }

  #object({ fields }: ObjectShape): Record<string, unknown> {
    const bytes = this.#bytes
    const object: Record<string, unknown> = {}
    this.at = skipSpace(bytes, this.at + 1)
    if (this.#ends(closeObject)) return object
    do {
      this.at = skipSpace(bytes, this.at)
      const key = this.at
      this.at = skipKey(bytes, key)
      const name = this.#name(key)
      const shape = name === undefined ? undefined : fields.get(name)
      if (name === undefined || shape === undefined) this.at = skipValue(bytes, this.at)
      else object[name] = this.value(shape)
    } while (this.#goesOn(closeObject))
    return object
  }

  #texts(): unknown[] {
    const texts: unknown[] = []
    this.#each(() => {
      if (texts.length < longestList) texts.push(this.value('scalar'))
      else this.at = skipValue(this.#bytes, this.at)
    })
    return texts
  }

  /** Walked over now, so that all is known to be JSON before anything of it is read. */
  #items(shape: Shape): ItemsInPlace {
    const bytes = this.#bytes
    const places: number[] = []
    let length = 0
    this.#each(() => {
      const from = this.at
      this.at = skipValue(bytes, from)
      if (length < mostItems) places.push(from, this.at)
      length += 1
    })
    return new ItemsInPlace(length, () => itemsAt(bytes, places, shape))
  }

  #each(pass: () => void): void {
    this.at = skipSpace(this.#bytes, this.at + 1)
    if (this.#ends(closeList)) return
    do {
      this.at = skipSpace(this.#bytes, this.at)
      pass()
    } while (this.#goesOn(closeList))
  }

  #ends(close: number): boolean {
    if (this.#bytes[this.at] !== close) return false
    this.at += 1
    return true
  }

  #goesOn(close: number): boolean {
    this.at = skipSpace(this.#bytes, this.at)
    if (this.#ends(close)) return false
    if (this.#bytes[this.at] !== comma) throw new NotJson()
    this.at += 1
    return true
  }

  /** Of the key that begins here; undefined where it is none that anybody reads. */
  #name(from: number): string | undefined {
    const end = this.#bytes.indexOf(quote, from + 1)
    const raw = this.#bytes.toString('latin1', from + 1, Math.min(end, from + longestKey))
    if (!raw.includes('\\')) return raw.length === end - from - 1 ? raw : undefined
    const whole = skipString(this.#bytes, from)
    return whole - from > longestKey ? undefined : textOf(this.#bytes, from, whole)
  }

  #scalar(): unknown {
    const from = this.at
    this.at = skipScalar(this.#bytes, from)
    if (this.#bytes[from] !== quote) return JSON.parse(this.#bytes.toString('latin1', from, this.at))
    return this.at - from > longestString ? this.#beginning(from) : textOf(this.#bytes, from, this.at)
  }

  /** The beginning of a string that is too long, not cut within a character or an escape. */
  #beginning(from: number): string {
    let at = from + 1
    while (at < from + longestString) at += this.#bytes[at] !== backslash ? 1 : this.#bytes[at + 1] === 0x75 ? 6 : 2
    while (((this.#bytes[at] ?? 0) & 0xc0) === 0x80) at += 1
    return JSON.parse(`${this.#bytes.toString('utf8', from, at)}"`) as string
  }
}

function* itemsAt(bytes: Buffer, places: readonly number[], shape: Shape): Generator {
  for (let at = 0; at < places.length; at += 2) {
    const [from = 0, to = 0] = [places[at], places[at + 1]]
    if (to - from < largeItem) yield JSON.parse(bytes.toString('utf8', from, to))
    else yield new Picker(bytes, from).value(shape)
  }
}

/** Of a string with its quotes. */
function textOf(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from + 1, to - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
