import { expect, it } from 'vitest'
import fc from 'fast-check'
import { KeptLines } from '../../../src/platform/job-log/kept-lines.ts'
import { runs } from '../../full.ts'

it('keeps the beginning and the end of a log within a byte limit, and counts the lines in between', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 200 }), { maxLength: 200 })
  fc.assert(
    fc.property(texts, fc.integer({ min: 16, max: 20_000 }), (lines, maxBytes) => {
      const kept = new KeptLines(maxBytes)
      const whole = lines.map(text => text.toWellFormed())
      whole.forEach((text, index) => {
        const stamp = index % 2 === 0 ? { at: index, stream: 'stderr' as const } : undefined
        kept.add({ number: index + 1, stamp, text }, undefined)
      })
      const { head, tail, missing } = kept
      const left = [...head, ...tail]
      expect(left.map(({ text }) => text)).toEqual(left.map(({ number }) => whole[number - 1]))
      // A line without a timestamp has the timestamp of the previous line.
      expect(left.every(({ number, at }) => at === (number % 2 === 1 ? number - 1 : number - 2))).toBe(true)
      expect(left.every(({ number, stream }) => stream === (number % 2 === 1 ? 'stderr' : undefined))).toBe(true)
      expect(left.length + (missing?.lines ?? 0)).toBe(lines.length)
      expect(left.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0)).toBeLessThanOrEqual(maxBytes)
      expect(head.map(({ number }) => number)).toEqual(head.map((_, index) => index + 1))
    }),
    runs(200),
  )
})
