// Tests how durations are formatted: no unit reaches the next larger one, and a longer duration never reads as a shorter one.
import { expect, it } from 'vitest'
import fc from 'fast-check'
import { durationText } from '../../src/model/instant.ts'

/** The units of formatted durations, in ms. */
const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function parsed(text: string): number {
  const parts = [...text.matchAll(/([\d.]+) (ms|s|m|h|d)(?= |$)/g)]
  expect(parts.map(([part]) => part).join(' ')).toBe(text)
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ''] ?? NaN), 0)
}

const durations = fc.oneof(
  fc.double({ min: 0, max: 20_000, noNaN: true }),
  fc.double({ min: 0, max: 400_000_000, noNaN: true }),
)

it('formats a duration with a precision of a tenth of the larger unit or better', () => {
  fc.assert(
    fc.property(durations, ms => {
      const text = durationText(ms)
      expect(text).not.toMatch(/\b(1000 ms|60 s|60 m|48 h|24 h$|10\.0 s)/)
      expect(Math.abs(parsed(text) - ms)).toBeLessThanOrEqual(Math.max(0.5, ms / 20))
    }),
  )
})

it('never formats a longer duration so that it reads as a shorter one', () => {
  fc.assert(
    fc.property(durations, durations, (a, b) => {
      const [short, long] = [Math.min(a, b), Math.max(a, b)]
      expect(parsed(durationText(short))).toBeLessThanOrEqual(parsed(durationText(long)))
    }),
  )
})

it.each([
  [0, '0 ms'],
  [-3, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1.0 s'],
  [9_949, '9.9 s'],
  [9_999, '10 s'],
  [59_499, '59 s'],
  [59_600, '1 m 00 s'],
  [63_000, '1 m 03 s'],
  [3_599_600, '1 h 00 m'],
  [7_500_000, '2 h 05 m'],
  [172_799_000, '47 h 59 m'],
  [702_000_000, '8 d 3 h'],
])('formats a duration of %d ms as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})
