// The digits of numbers as bytes: those that a string of the number has.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { digitsOf, hasDigits, NumberedBytes, putDigits } from '../../src/telemetry/digits.ts'
import { runs } from '../full.ts'

const edges = [0, 1, 9, 10, 999_999_999, 1_000_000_000, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]
const number = fc.oneof(fc.maxSafeNat(), fc.nat(), fc.constantFrom(...edges))

describe('the digits of a number', () => {
  it('are those of its string, and nothing beside them is touched', () => {
    fc.assert(
      fc.property(number, value => {
        const digits = digitsOf(value)
        const bytes = Buffer.from('.'.repeat(digits + 2))
        putDigits(bytes, digits + 1, value, digits)
        expect(bytes.toString()).toBe(`.${value}.`)
      }),
      runs(1_000),
    )
  })

  it('are none for what is no whole number, or not an exact one', () => {
    for (const value of [-1, -0, 0.5, NaN, Infinity, 2 ** 53, 1e21]) expect(hasDigits(value)).toBe(false)
    for (const value of edges) expect(hasDigits(value)).toBe(true)
  })
})

describe('bytes around a number', () => {
  it('are those of the whole text, whatever text was before', () => {
    const piece = fc.constantFrom('', 'a', 'é', '1', 'https://example.com')
    const text = fc.tuple(fc.oneof(piece, fc.nat({ max: 3 })), piece, fc.oneof(number, fc.double()), piece)
    fc.assert(
      fc.property(fc.array(text, { maxLength: 20 }), texts => {
        const one = new NumberedBytes()
        for (const [first, second, value, after] of texts) {
          expect(one.of(first, second, value, after).toString()).toBe(`${first}${second}${value}${after}`)
        }
      }),
      runs(500),
    )
  })
})
