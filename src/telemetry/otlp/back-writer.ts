// A protobuf writer that goes from back to front: a message's length is known when its tag is written, so nothing is
// measured first and nothing is moved after (protobuf encoding: protobuf.dev/programming-guides/encoding).

/** UTF-16 units. */
const shortText = 48

/** What is written first stands last. Fields go in in the reverse of their order. */
export class BackWriter {
  readonly #size: number
  #buffer: Buffer
  #start: number
  /** Where the message ends: behind it in the buffer are those before it. */
  #end: number

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
  }

  /** A copy of what was written since so much was. */
  since(written: number): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(this.#start, this.#end - written))
  }

  /** The number and wire type of a field whose value has been written. */
  tag(field: number, wire: number): void {
    this.varint((field << 3) | wire)
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

  /** A 64-bit integer, in two's complement when negative (int64). */
  bigint(value: bigint): void {
    if (Number.isSafeInteger(Number(value))) this.int64(Number(value))
    else this.#halves(Number(value >> 28n), Number(value & 0xfff_ffffn))
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

  /** A whole number that a double holds exactly, in two's complement when negative (sfixed64). */
  fixed64(value: number): void {
    const high = Math.floor(value / 0x1_0000_0000)
    this.#halfWords(high, value - high * 0x1_0000_0000)
  }

  /** Whole milliseconds since 1970, as nanoseconds in a fixed64. */
  instant(millis: number): void {
    // In two halves of 32 bits, exact: the product needs more than a double's 53 bits.
    const high = Math.floor(millis / 0x1_0000_0000)
    const low = (millis - high * 0x1_0000_0000) * 1e6
    const carry = Math.floor(low / 0x1_0000_0000)
    this.#halfWords(high * 1e6 + carry, low - carry * 0x1_0000_0000)
  }

  /**
   * Most attributes have a short text of ASCII as their value, so that each length takes one byte: these are put down at one go, which
   * takes half the time. False, and nothing written, where it is otherwise.
   */
  shortAttribute(field: number, head: Uint8Array, value: string): boolean {
    const size = value.length
    const all = size + head.length + 3
    if (all > 0x7f) return false
    this.#room(all + 2)
    const buffer = this.#buffer
    let at = this.#start - size
    for (let n = 0; n < size; n += 1) {
      const code = value.charCodeAt(n)
      if (code > 0x7f) return false
      buffer[at + n] = code
    }
    buffer[at - 1] = size
    buffer[at - 2] = 0x0a
    buffer[at - 3] = size + 2
    at -= 3 + head.length
    buffer.set(head, at)
    buffer[at - 1] = all
    buffer[at - 2] = (field << 3) | 2
    this.#start = at - 2
    return true
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

  #halfWords(high: number, low: number): void {
    this.#room(8)
    this.#start -= 8
    this.#word(low, this.#start)
    this.#word(high, this.#start + 4)
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
