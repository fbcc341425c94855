// A protobuf writer that writes a message from its end to its beginning. The length of a message is therefore known by the time its tag is written,
// so nothing has to be measured or moved (protobuf.dev/programming-guides/encoding).

/** Maximum length, in UTF-16 units, of strings that are encoded in JavaScript instead of by a native Buffer method. */
const shortText = 96

/**
 * Writes protobuf from the end of a buffer to its beginning, so callers write fields in reverse order. All messages are built in the same buffer,
 * which stays in the CPU cache, and are then copied. This is faster than allocating a buffer for each message.
 */
export class BackWriter {
  readonly #size: number
  #buffer: Buffer
  #start: number

  /** `size`: initial size of the buffer, bytes. The buffer grows for long messages, and is reset to this size once it has grown far beyond it. */
  constructor(size: number) {
    this.#size = size
    this.#buffer = Buffer.allocUnsafeSlow(size)
    this.#start = size
  }

  /** Number of bytes written so far. */
  get written(): number {
    return this.#buffer.length - this.#start
  }

  clear(): void {
    if (this.#buffer.length > 16 * this.#size) this.#buffer = Buffer.allocUnsafeSlow(this.#size)
    this.#start = this.#buffer.length
  }

  /** Returns a copy of all bytes that were written after the first `written` bytes. */
  since(written: number): Uint8Array {
    const bytes = Buffer.allocUnsafeSlow(this.written - written)
    this.#buffer.copy(bytes, 0, this.#start)
    return bytes
  }

  bytes(value: Uint8Array): this {
    if (value.length === 0) return this
    const start = this.#place(value.length)
    this.#buffer.set(value, start)
    return this
  }

  /** Writes an unsigned integer below 2^32 as a varint. */
  varint(value: number): this {
    if (value < 0x80) {
      const start = this.#place(1)
      this.#buffer[start] = value
      return this
    }
    const size = value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5
    let at = this.#place(size)
    const buffer = this.#buffer
    let rest = value
    for (let left = size; left > 1; left -= 1) {
      buffer[at] = (rest & 0x7f) | 0x80
      at += 1
      rest >>>= 7
    }
    buffer[at] = rest
    return this
  }

  /** Writes a 64-bit integer as a varint. A negative integer is written in two's complement (int64). */
  int64(value: number | bigint): this {
    if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) {
      const whole = Number(value)
      const high = Math.floor(whole / 0x1000_0000)
      return high === 0 ? this.varint(whole) : this.varint(high).#groups(whole - high * 0x1000_0000)
    }
    const bits = BigInt.asUintN(64, BigInt(value))
    const top = Number(bits >> 56n)
    const middle = Number((bits >> 28n) & 0xfff_ffffn)
    return (top === 0 ? this.varint(middle) : this.varint(top).#groups(middle)).#groups(Number(bits & 0xfff_ffffn))
  }

  /** Writes 28 bits of a varint as four bytes, each with the continuation bit set. */
  #groups(bits: number): this {
    const start = this.#place(4)
    const buffer = this.#buffer
    buffer[start] = bits | 0x80
    buffer[start + 1] = (bits >>> 7) | 0x80
    buffer[start + 2] = (bits >>> 14) | 0x80
    buffer[start + 3] = (bits >>> 21) | 0x80
    return this
  }

  double(value: number): this {
    const start = this.#place(8)
    this.#buffer.writeDoubleLE(value, start)
    return this
  }

  fixed32(value: number): this {
    const start = this.#place(4)
    const buffer = this.#buffer
    buffer[start] = value
    buffer[start + 1] = value >>> 8
    buffer[start + 2] = value >>> 16
    buffer[start + 3] = value >>> 24
    return this
  }

  /** Writes a safe integer in 8 bytes. A negative integer is written in two's complement (sfixed64). */
  fixed64(value: number): this {
    const high = Math.floor(value / 0x1_0000_0000)
    return this.fixed32(high).fixed32(value - high * 0x1_0000_0000)
  }

  /** Writes a time as nanoseconds in a fixed64. `millis`: milliseconds since 1970, which are rounded to whole microseconds. */
  instant(millis: number): this {
    // The number of nanoseconds exceeds the 53 bits of precision of a double, so it is computed in two exact 32-bit halves.
    const high = Math.floor(millis / 0x1_0000_0000)
    const low = Math.round((millis - high * 0x1_0000_0000) * 1e3) * 1e3
    const carry = Math.floor(low / 0x1_0000_0000)
    return this.fixed32(high * 1e6 + carry).fixed32(low - carry * 0x1_0000_0000)
  }

  /** Writes a length-prefixed UTF-8 string. */
  string(value: string): this {
    if (value.length <= shortText && this.#ascii(value)) return this.varint(value.length)
    const size = Buffer.byteLength(value)
    const start = this.#place(size)
    this.#buffer.write(value, start, size, size === value.length ? 'latin1' : 'utf8')
    return this.varint(size)
  }

  /**
   * Writes a short ASCII string byte by byte, because a call to a native Buffer method would take longer. Returns false and writes nothing if the
   * string is not ASCII.
   */
  #ascii(value: string): boolean {
    const size = value.length
    const start = this.#place(size)
    const buffer = this.#buffer
    for (let at = 0; at < size; at += 1) {
      const code = value.charCodeAt(at)
      if (code > 0x7f) {
        this.#start += size
        return false
      }
      buffer[start + at] = code
    }
    return true
  }

  /** Writes length-prefixed bytes, which are given as lower-case hex. */
  hex(value: string): this {
    const size = value.length / 2
    const start = this.#place(size)
    const buffer = this.#buffer
    for (let at = 0; at < size; at += 1) {
      buffer[start + at] = (nibble(value.charCodeAt(2 * at)) << 4) | nibble(value.charCodeAt(2 * at + 1))
    }
    return this.varint(size)
  }

  /** Reserves `size` bytes in front of everything written so far and returns their index. May replace the buffer. */
  #place(size: number): number {
    if (this.#start < size) this.#grow(size)
    return (this.#start -= size)
  }

  #grow(size: number): void {
    const { written } = this
    const grown = Buffer.allocUnsafeSlow(2 * (written + size))
    this.#start = grown.length - written
    this.#buffer.copy(grown, this.#start, this.#buffer.length - written)
    this.#buffer = grown
  }
}

function nibble(code: number): number {
  return (code & 0xf) + 9 * (code >> 6)
}
