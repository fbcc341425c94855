// Validates JSON in its bytes and finds where values end, without building them. Accepts exactly what `JSON.parse` accepts. Each level of nesting
// costs one bit, so no nesting is too deep.
import { atOnce, bytesBetweenPauses, type Turns } from './turns.ts'

/** Has no message, which could quote the body. */
export class NotJson extends Error {}

const code = {
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openObject: 0x7b,
  closeObject: 0x7d,
} as const

export const { quote, backslash, comma, openList, closeList, openObject, closeObject } = code

/** Where the next byte other than white space is (RFC 8259, section 2). */
export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from
  for (let byte = bytes[at]; byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09; byte = bytes[at]) at += 1
  return at
}

/** Where the string that begins here ends. Its UTF-8 need not be valid. */
export function skipString(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== code.quote) throw new NotJson()
  for (let at = from + 1; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === code.quote) return at + 1
    if (byte === code.backslash) at += escapeLength(bytes, at) - 1
    else if (byte < 0x20) throw new NotJson()
  }
  throw new NotJson()
}

/** 1 for each byte that may follow a backslash, other than `u`. A table, because a string may consist of escapes. */
const simpleEscapes = new Uint8Array(256)
for (const kind of '"\\/bfnrt') simpleEscapes[kind.charCodeAt(0)] = 1

function escapeLength(bytes: Uint8Array, from: number): number {
  const kind = bytes[from + 1] ?? 0
  if (simpleEscapes[kind] === 1) return 2
  if (kind !== 0x75) throw new NotJson()
  for (let at = from + 2; at < from + 6; at += 1) if (!isHexDigit(bytes[at])) throw new NotJson()
  return 6
}

function isHexDigit(byte = 0): boolean {
  const lower = byte | 0x20
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66)
}

function isDigit(byte = 0): boolean {
  return byte >= code.zero && byte <= code.nine
}

function skipDigits(bytes: Uint8Array, from: number): number {
  let at = from
  while (isDigit(bytes[at])) at += 1
  if (at === from) throw new NotJson()
  return at
}

function skipNumber(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === code.minus ? from + 1 : from
  at = bytes[at] === code.zero ? at + 1 : skipDigits(bytes, at)
  if (bytes[at] === code.point) at = skipDigits(bytes, at + 1)
  if (((bytes[at] ?? 0) | 0x20) === 0x65) {
    const sign = bytes[at + 1]
    at = skipDigits(bytes, sign === 0x2b || sign === code.minus ? at + 2 : at + 1)
  }
  return at
}

/** Where the string, number or literal that begins here ends. */
export function skipScalar(bytes: Uint8Array, from: number): number {
  const first = bytes[from]
  if (first === code.quote) return skipString(bytes, from)
  if (first === code.minus || isDigit(first)) return skipNumber(bytes, from)
  const end = from + (first === 0x66 ? 5 : 4)
  const isLiteral = first === 0x74 ? isTrue(bytes, from) : first === 0x66 ? isFalse(bytes, from) : isNull(bytes, from)
  if (!isLiteral) throw new NotJson()
  return end
}

function isTrue(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x74 && bytes[at + 1] === 0x72 && bytes[at + 2] === 0x75 && bytes[at + 3] === 0x65
}

function isFalse(bytes: Uint8Array, at: number): boolean {
  const isFals = bytes[at] === 0x66 && bytes[at + 1] === 0x61 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x73
  return isFals && bytes[at + 4] === 0x65
}

function isNull(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x6e && bytes[at + 1] === 0x75 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x6c
}

/** Where the value begins whose key begins here. */
export function skipKey(bytes: Uint8Array, from: number): number {
  const colon = skipSpace(bytes, skipString(bytes, from))
  if (bytes[colon] !== code.colon) throw new NotJson()
  return skipSpace(bytes, colon + 1)
}

/** The open objects and lists: a bit for each level. */
class Levels {
  depth = 0
  #bits = new Uint8Array(16)

  push(bit: boolean): void {
    const at = this.depth >> 3
    if (at === this.#bits.length) {
      const larger = new Uint8Array(2 * at)
      larger.set(this.#bits)
      this.#bits = larger
    }
    this.depth += 1
    this.top = bit
  }

  get top(): boolean {
    const at = this.depth - 1
    return (((this.#bits[at >> 3] ?? 0) >> (at & 7)) & 1) === 1
  }

  set top(bit: boolean) {
    const at = this.depth - 1
    const mask = 1 << (at & 7)
    const byte = this.#bits[at >> 3] ?? 0
    this.#bits[at >> 3] = bit ? byte | mask : byte & ~mask
  }
}

/** Called for each member of an object, which it may skip as a whole. */
export interface Visitor {
  /** A key begins at `key`, its value at `value`, and `comma` is where the comma before it is. True: skip it. */
  member(key: number, value: number, comma: number | undefined): boolean
  /** The skipped member ends here. */
  passed(end: number): void
}

/** Where the value that begins here ends. */
export function skipValue(bytes: Uint8Array, from: number): number {
  return atOnce(skipInTurns(bytes, from))
}

/** The same, with pauses. */
export function* skipInTurns(bytes: Uint8Array, from: number, visitor?: Visitor): Turns<number> {
  const isObject = new Levels()
  let at = from
  let before: number | undefined
  let pause = from + bytesBetweenPauses

  /** Moves behind the key that begins here; true if the member is to be skipped. */
  function isSkipped(): boolean {
    const key = at
    at = skipKey(bytes, key)
    return visitor?.member(key, at, before) === true
  }

  for (;;) {
    if (at > pause) {
      pause = at + bytesBetweenPauses
      yield
    }
    let isDone = true
    const first = bytes[at]
    if (first === code.openObject || first === code.openList) {
      const inner = skipSpace(bytes, at + 1)
      const opensObject = first === code.openObject
      if (bytes[inner] === (opensObject ? code.closeObject : code.closeList)) at = inner + 1
      else {
        isObject.push(opensObject)
        at = inner
        before = undefined
        isDone = opensObject && isSkipped()
        if (isDone) at = yield* skipMember(bytes, at, visitor)
      }
    } else at = skipScalar(bytes, at)

    while (isDone) {
      if (isObject.depth === 0) return at
      at = skipSpace(bytes, at)
      const next = bytes[at]
      const inObject = isObject.top
      if (next === code.comma) {
        before = at
        at = skipSpace(bytes, at + 1)
        isDone = inObject && isSkipped()
        if (isDone) at = yield* skipMember(bytes, at, visitor)
      } else if (next === (inObject ? code.closeObject : code.closeList)) {
        isObject.depth -= 1
        at += 1
      } else throw new NotJson()
    }
  }
}

function* skipMember(bytes: Uint8Array, from: number, visitor: Visitor | undefined): Turns<number> {
  const end = yield* skipInTurns(bytes, from)
  visitor?.passed(end)
  return end
}

/** Where the text begins, after a byte order mark. */
export function beginOf(bytes: Uint8Array): number {
  return skipSpace(bytes, bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0)
}

/** Throws unless only white space is left. */
export function expectEnd(bytes: Uint8Array, at: number): void {
  if (skipSpace(bytes, at) !== bytes.length) throw new NotJson()
}
