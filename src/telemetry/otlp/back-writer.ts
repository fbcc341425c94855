// A protobuf writer that goes from back to front: a message's length is known when its tag is written, so nothing is
// measured first and nothing is moved after (protobuf encoding: protobuf.dev/programming-guides/encoding).

import { putDigits } from '../digits.ts'

/** UTF-16 units. */
const shortText = 48

/** What is written first stands last. Fields go in in the reverse of their order. */
export class BackWriter {
  readonly #size: number
  #buffer: Buffer
  #start: number
  /** Where the message ends: behind it in the buffer are those before it. */
  #end: number
  #message: object = {}

  /** `size`: of a buffer, of which one message after the other takes its part. */
  constructor(size: number) {
    this.#size = size
    this.#buffer = Buffer.allocUnsafeSlow(size)
    this.#start = size
    this.#end = size
  }

  /** Bytes written so far: the difference of two is the length of what was written between. */
  get written(): number {
    return this.#end - this.#start
  }

  /** What stands for the message being written: another one after each `take` and `clear`. */
  get message(): object {
    return this.#message
  }

  /**
   * The message, where it was written; the writer is empty afterwards, and never writes there again. Whoever keeps a message
   * for long copies it: it keeps its buffer, and the messages beside it, in memory.
   */
  take(): Uint8Array {
    const bytes = this.#buffer.subarray(this.#start, this.#end)
    this.#end = this.#start
    this.clear()
    return bytes
  }

  clear(): void {
    this.#start = this.#end
    this.#message = {}
  }

  /** A copy of what was written since so much was. */
  since(written: number): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(this.#start, this.#end - written))
  }

  byte(value: number): void {
    this.#room(1)
    this.#start -= 1
    this.#buffer[this.#start] = value
  }

  bytes(value: Uint8Array): void {
    this.#room(value.length)
    this.#start -= value.length
    this.#buffer.set(value, this.#start)
  }

  /** In place of a byte already written, counted from what was written last. */
  put(at: number, value: number): void {
    this.#buffer[this.#start + at] = value
  }

  /** Once more what was written of this message after so much was, and before so much was. */
  again(from: number, to: number): void {
    const size = to - from
    this.#room(size)
    const end = this.#end
    this.#start -= size
    this.#buffer.copyWithin(this.#start, end - to, end - from)
  }

  /** An unsigned integer below 2^32. */
  varint(value: number): void {
    if (value < 0x80) {
      this.byte(value)
      return
    }
    this.#room(5)
    const buffer = this.#buffer
    const size = value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5
    let at = (this.#start -= size)
    let rest = value
    for (let left = size; left > 1; left -= 1) {
      buffer[at] = (rest & 0x7f) | 0x80
      at += 1
      rest >>>= 7
    }
    buffer[at] = rest
  }

  /** Any whole number that fits 64 bits, in two's complement when negative (int64). */
  int64(value: number): void {
    if (value >= 0 && value < 0x1_0000_0000) {
      this.varint(value)
      return
    }
    // Quotients by powers of two, and what they leave, are exact.
    const high = Math.floor(value / 0x1000_0000)
    this.#halves(high, value - high * 0x1000_0000)
  }

  /** Whole microseconds as nanoseconds, which a double need not hold (int64). */
  nanoseconds(micros: number): void {
    if (Math.abs(micros) < 0x20_0000_0000) {
      this.int64(micros * 1_000)
      return
    }
    const high = Math.floor(micros / 0x1000_0000)
    const low = (micros - high * 0x1000_0000) * 1_000
    const carry = Math.floor(low / 0x1000_0000)
    this.#halves(high * 1_000 + carry, low - carry * 0x1000_0000)
  }

  /** `high` times 2^28 and `low` below it: groups of 7 bits, four at a time. */
  #halves(high: number, low: number): void {
    const top = Math.floor(high / 0x1000_0000)
    if (top === 0) {
      this.varint(high)
    } else {
      this.varint(top & 0xff)
      this.#groups(high - top * 0x1000_0000)
    }
    this.#groups(low)
  }

  /** 28 bits of a varint that goes on. */
  #groups(bits: number): void {
    this.#room(4)
    const buffer = this.#buffer
    const start = (this.#start -= 4)
    buffer[start] = bits | 0x80
    buffer[start + 1] = (bits >>> 7) | 0x80
    buffer[start + 2] = (bits >>> 14) | 0x80
    buffer[start + 3] = (bits >>> 21) | 0x80
  }

  double(value: number): void {
    this.#room(8)
    this.#start -= 8
    this.#buffer.writeDoubleLE(value, this.#start)
  }

  fixed32(value: number): void {
    this.#room(4)
    this.#start -= 4
    this.#word(value, this.#start)
  }

  /** Whole milliseconds since 1970, as nanoseconds in a fixed64. */
  instant(millis: number): void {
    this.#room(8)
    this.#start -= 8
    // In two halves of 32 bits, exact: the product needs more than a double's 53 bits.
    const high = Math.floor(millis / 0x1_0000_0000)
    const low = (millis - high * 0x1_0000_0000) * 1e6
    const carry = Math.floor(low / 0x1_0000_0000)
    this.#word(low - carry * 0x1_0000_0000, this.#start)
    this.#word(high * 1e6 + carry, this.#start + 4)
  }

  /** UTF-8 with its length before it. */
  string(value: string): void {
    this.varint(this.text(value))
  }

  /** UTF-8, and how many bytes it takes. */
  text(value: string): number {
    if (value.length <= shortText && this.#ascii(value)) return value.length
    const size = Buffer.byteLength(value)
    this.#room(size)
    this.#start -= size
    if (size === value.length) this.#buffer.write(value, this.#start, size, 'latin1')
    else this.#buffer.write(value, this.#start, size, 'utf8')
    return size
  }

  /** Short texts are put down here: a call into the runtime costs more than they do. False when one is not ASCII. */
  #ascii(value: string): boolean {
    const size = value.length
    this.#room(size)
    const buffer = this.#buffer
    const start = this.#start - size
    for (let at = 0; at < size; at += 1) {
      const code = value.charCodeAt(at)
      if (code > 0x7f) return false
      buffer[start + at] = code
    }
    this.#start = start
    return true
  }

  /** So many decimal digits of a whole number. */
  digits(value: number, digits: number): void {
    this.#room(digits)
    putDigits(this.#buffer, this.#start, value, digits)
    this.#start -= digits
  }

  /** Bytes given as lower-case hex, with their length before them. */
  hex(value: string): void {
    const size = value.length / 2
    this.#room(size)
    const buffer = this.#buffer
    const start = (this.#start -= size)
    for (let at = 0; at < size; at += 1) {
      buffer[start + at] = (nibble(value.charCodeAt(2 * at)) << 4) | nibble(value.charCodeAt(2 * at + 1))
    }
    this.varint(size)
  }

  #word(value: number, at: number): void {
    const buffer = this.#buffer
    buffer[at] = value
    buffer[at + 1] = value >>> 8
    buffer[at + 2] = value >>> 16
    buffer[at + 3] = value >>> 24
  }

  #room(size: number): void {
    if (this.#start >= size) return
    const { written } = this
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#size, 2 * (written + size)))
    const start = grown.length - written
    this.#buffer.copy(grown, start, this.#start, this.#end)
    this.#buffer = grown
    this.#start = start
    this.#end = grown.length
  }
}

function nibble(code: number): number {
  return (code & 0xf) + 9 * (code >> 6)
}
