import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bounded, maxCharacters, maxTextLength } from '../../../src/features/mcp/bounded.ts'
import { runs } from '../../full.ts'

const first = { limit: 3, keep: 'first' } as const

it('leaves a small tool result unchanged', () => {
  const answer = { rows: [{ name: 'a', of: [1, 2] }], next: '1-2', total: 1 }
  expect(bounded(answer, first)).toEqual(answer)
})

it('truncates the lists in a tool result at the limit, from the requested end, and names what is omitted', () => {
  const answer = { of: { rows: [1, 2, 3, 4, 5] }, next: '1-2' }
  const leftOut = [{ list: 'of.rows', shown: 3, of: 5 }]
  expect(bounded(answer, first)).toEqual({ of: { rows: [1, 2, 3] }, leftOut })
  expect(bounded(answer, { limit: 3, keep: 'last' })).toEqual({ of: { rows: [3, 4, 5] }, leftOut })
})

it('truncates nested lists in the rows of a tool result, and keeps the link to the next page', () => {
  const answer = { rows: [{ of: [1] }, { of: [1, 2, 3, 4, 5, 6, 7] }], next: '1-2' }
  expect(bounded(answer, { limit: 20, keep: 'first' })).toEqual({
    rows: [{ of: [1] }, { of: [1, 2, 3, 4, 5] }],
    next: '1-2',
    leftOut: [{ list: 'rows.of', shown: 5, of: 7 }],
  })
  const few = { rows: [{ of: [1, 2, 3, 4] }], next: '1-2' }
  expect(bounded(few, first)).toEqual({
    rows: [{ of: [1, 2, 3] }],
    next: '1-2',
    leftOut: [{ list: 'rows.of', shown: 3, of: 4 }],
  })
})

it('truncates long strings in a tool result without splitting a character', () => {
  const text = `${'x'.repeat(maxTextLength - 1)}😀`
  expect(bounded({ text }, first)).toEqual({ text: `${'x'.repeat(maxTextLength - 1)}\ufffd…` })
})

it('returns no tool result if not even one row fits the limit', () => {
  const row = Object.fromEntries(Array.from({ length: 50 }, (_, nth) => [`key ${nth}`, 'x'.repeat(1_000)]))
  expect(bounded({ rows: [row, row] }, first)).toBeUndefined()
})

it('never exceeds the maximum number of characters and rows in a tool result, and names every truncated list', () => {
  const row = fc.record({ text: fc.string({ maxLength: 3_000 }), of: fc.array(fc.nat(), { maxLength: 9 }) })
  const lists = fc.record({ a: fc.array(row, { maxLength: 60 }), b: fc.array(fc.string(), { maxLength: 60 }) })
  fc.assert(
    fc.property(lists, fc.integer({ min: 1, max: 200 }), fc.constantFrom('first', 'last'), (answer, limit, keep) => {
      const found = bounded(answer, { limit, keep }) as typeof answer & { leftOut?: { list: string; shown: number }[] }
      expect(JSON.stringify(found).length).toBeLessThanOrEqual(maxCharacters)
      for (const list of ['a', 'b'] as const) {
        const [kept, all] = [found[list].length, answer[list].length]
        expect(kept).toBeLessThanOrEqual(limit)
        expect(found.leftOut?.find(one => one.list === list)?.shown ?? all).toBe(kept)
      }
    }),
    runs(100),
  )
})
