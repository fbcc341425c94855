// The digits of whole numbers as bytes. Ids are above 2^31 on large platforms: there a number takes longer to become a string
// than to be written, and the string longer again to become bytes.

/** Digits are made of halves that are small integers. */
const half = 1_000_000_000

/** True for numbers whose digits can be written here. */
export function hasDigits(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value < half * half && !Object.is(value, -0)
}

/** How many digits a number has. */
export function digitsOf(value: number): number {
  let digits = 1
  for (let limit = 10; value >= limit; limit *= 10) digits += 1
  return digits
}

/** So many digits of a number, the last of them before `end`. */
export function putDigits(bytes: Uint8Array, end: number, value: number, digits: number): void {
  const high = Math.floor(value / half)
  const low = value - high * half
  if (digits <= 9) {
    putSmall(bytes, end, low, digits)
    return
  }
  putSmall(bytes, end, low, 9)
  putSmall(bytes, end - 9, high, digits - 9)
}

function putSmall(bytes: Uint8Array, end: number, value: number, digits: number): void {
  let rest = value | 0
  for (let at = end - 1; at >= end - digits; at -= 1) {
    const next = (rest / 10) | 0
    bytes[at] = rest - next * 10 + 0x30
    rest = next
  }
}

/** Bytes of texts that differ in a number alone: only its digits are written anew. One text at a time. */
export class NumberedBytes {
  #first: string | number = ''
  #second = ''
  #after = ''
  #digits = 0
  #bytes = Buffer.alloc(0)
  #end = 0

  /** UTF-8 of what stands before, in two pieces, of the number, and of what stands after it; good until the next. */
  of(first: string | number, second: string, number: number, after: string): Buffer {
    if (!hasDigits(number)) return Buffer.from(`${first}${second}${number}${after}`)
    const digits = digitsOf(number)
    if (first !== this.#first || second !== this.#second || after !== this.#after || digits !== this.#digits) {
      const before = `${first}${second}`
      this.#first = first
      this.#second = second
      this.#after = after
      this.#digits = digits
      this.#bytes = Buffer.from(before + '0'.repeat(digits) + after)
      this.#end = Buffer.byteLength(before) + digits
    }
    putDigits(this.#bytes, this.#end, number, digits)
    return this.#bytes
  }
}
