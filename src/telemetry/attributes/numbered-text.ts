// Texts that end in a number that never recurs, such as a job's address: their bytes but for the digits are those of the text
// before, and the digits are written without a string in between.
import type { BackWriter } from '../otlp/back-writer.ts'
import { digitsOf, hasDigits } from '../digits.ts'
import type { AttributeName } from './key-value.ts'
import type { AttributeRule } from '../attribute-policy.ts'

export class NumberedText {
  readonly before: string
  readonly number: number

  constructor(before: string, number: number) {
    this.before = before
    this.number = number
  }

  toString(): string {
    return this.before + String(this.number)
  }
}

/** A name for such texts, which knows the beginning of the one before. */
export class NumberedName {
  readonly #name: AttributeName
  readonly #rule: AttributeRule
  #before: string | undefined
  #digits = 0
  /** All that stands before the digits; undefined where the rule makes another text of it. */
  #beginning: Uint8Array | undefined

  constructor(name: AttributeName, rule: AttributeRule) {
    this.#name = name
    this.#rule = rule
  }

  /**
   * A rule looks at a text's length or makes something else of all of it. So where it left alone the text before, it leaves
   * alone one of the same beginning and as many digits.
   */
  write(writer: BackWriter, text: NumberedText): void {
    const { before, number } = text
    const digits = hasDigits(number) ? digitsOf(number) : 0
    if (before !== this.#before || digits !== this.#digits) this.#beginning = undefined
    this.#before = before
    this.#digits = digits
    if (this.#beginning !== undefined) {
      writer.digits(number, digits)
      writer.bytes(this.#beginning)
      return
    }
    const whole = text.toString()
    const value = this.#rule(whole)
    const began = writer.written
    this.#name.write(writer, value)
    if (value === whole && digits > 0) this.#beginning = writer.since(began).subarray(0, -digits)
  }
}
