// Parses only those fields of JSON that a shape names, directly from the bytes. All else is skipped, whatever its size and depth, without memory.
// Values are as from `JSON.parse`; a list or object that the shape does not expect is null.
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
  skipInTurns,
  skipScalar,
  skipSpace,
  skipString,
  skipValue,
} from './json-walk.ts'
import { ItemsInPlace } from './wire-items.ts'
import { atOnce, bytesBetweenPauses, type Turns } from './turns.ts'
import { maxItems } from '../port.ts'
import { maxList, maxMessage } from '../wire-read.ts'
import type { ObjectShape, Shape } from './wire-shape.ts'

/** Longer strings are cut, bytes. What remains is longer than any reader takes, even if each character is an escape of six bytes. */
const maxStringLength = 6 * (maxMessage + 2)
/** Smaller items are parsed as a whole, which is quicker. */
const largeItem = 64 * 1024
/** Longer keys are not read by anybody, bytes: this is the longest name with all letters escaped. */
const maxKeyLength = 6 * 64

/** Throws NotJson. Lists in the result refer to the bytes until they are read. */
export function* pickJson(body: Uint8Array, shape: Shape): Turns<unknown> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const picked = new Picker(bytes, beginOf(bytes))
  const value = yield* picked.value(shape)
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

  /** Parses the value that begins here and moves behind it. */
  *value(shape: Shape): Turns<unknown> {
    const first = this.#bytes[this.at]
    if (first === openObject && typeof shape === 'object' && 'fields' in shape) return yield* this.#object(shape)
    if (first === openList && shape === 'texts') return yield* this.#texts()
    if (first === openList && typeof shape === 'object' && 'items' in shape) return yield* this.#items(shape.items)
    if (first !== openObject && first !== openList) return this.#scalar()
    this.at = yield* skipInTurns(this.#bytes, this.at)
    return null
  }

  *#object({ fields }: ObjectShape): Turns<Record<string, unknown>> {
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
      if (name === undefined || shape === undefined) this.at = yield* skipInTurns(bytes, this.at)
      else object[name] = yield* this.value(shape)
    } while (this.#goesOn(closeObject))
    return object
  }

  *#texts(): Turns<unknown[]> {
    const texts: unknown[] = []
    yield* this.#each(from => {
      const isText = texts.length < maxList && this.#bytes[from] !== openObject && this.#bytes[from] !== openList
      if (isText) texts.push(this.#scalar())
      else {
        this.at = skipValue(this.#bytes, from)
        if (texts.length < maxList) texts.push(null)
      }
    })
    return texts
  }

  /** Skipped for now, so that the whole body is known to be JSON before any item is parsed. */
  *#items(shape: Shape): Turns<ItemsInPlace> {
    const bytes = this.#bytes
    const places: number[] = []
    let length = 0
    yield* this.#each(from => {
      this.at = skipValue(bytes, from)
      if (length < maxItems) places.push(from, this.at)
      length += 1
    })
    return new ItemsInPlace(length, () => itemsAt(bytes, places, shape))
  }

  /** `pass` moves behind the item that begins at `from`. */
  *#each(pass: (from: number) => void): Turns<void> {
    this.at = skipSpace(this.#bytes, this.at + 1)
    if (this.#ends(closeList)) return
    let pause = this.at + bytesBetweenPauses
    do {
      this.at = skipSpace(this.#bytes, this.at)
      pass(this.at)
      if (this.at > pause) {
        pause = this.at + bytesBetweenPauses
        yield
      }
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

  /** The key that begins here; undefined if nobody reads it. */
  #name(from: number): string | undefined {
    const end = this.#bytes.indexOf(quote, from + 1)
    const raw = this.#bytes.toString('latin1', from + 1, Math.min(end, from + maxKeyLength))
    if (!raw.includes('\\')) return raw.length === end - from - 1 ? raw : undefined
    const whole = skipString(this.#bytes, from)
    return whole - from > maxKeyLength ? undefined : textOf(this.#bytes, from, whole)
  }

  #scalar(): unknown {
    const from = this.at
    this.at = skipScalar(this.#bytes, from)
    if (this.#bytes[from] !== quote) return JSON.parse(this.#bytes.toString('latin1', from, this.at))
    return this.at - from > maxStringLength ? this.#beginning(from) : textOf(this.#bytes, from, this.at)
  }

  /** The beginning of a string that is too long, without cutting a character or an escape. */
  #beginning(from: number): string {
    let at = from + 1
    while (at < from + maxStringLength) at += this.#bytes[at] !== backslash ? 1 : this.#bytes[at + 1] === 0x75 ? 6 : 2
    while (((this.#bytes[at] ?? 0) & 0xc0) === 0x80) at += 1
    return JSON.parse(`${this.#bytes.toString('utf8', from, at)}"`) as string
  }
}

function* itemsAt(bytes: Buffer, places: readonly number[], shape: Shape): Generator {
  for (let at = 0; at < places.length; at += 2) {
    const [from = 0, to = 0] = [places[at], places[at + 1]]
    if (to - from < largeItem) yield JSON.parse(bytes.toString('utf8', from, to))
    else yield atOnce(new Picker(bytes, from).value(shape))
  }
}

/** The text of a string, given with its quotes. */
function textOf(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from + 1, to - 1)
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
