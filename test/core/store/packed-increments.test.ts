import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DataError } from '../../../src/lib/fault.ts'
import { zstdCompressSync } from 'node:zlib'
import { packed, unpacked } from '../../../src/core/store/sql/packed-increments.ts'
import type { Amount, Exemplar, Increment, ProjectIncrements } from '../../../src/model/totals.ts'

const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => value + 0)
const text = fc.string({ unit: 'grapheme' })
const exemplar: fc.Arbitrary<Exemplar> = fc.record({
  at: fc.nat(),
  value: number,
  traceId: fc.constantFrom('a', 'b'),
  spanId: fc.constantFrom('a', 'b', 'c'),
})
const sometimes = { requiredKeys: ['kind', 'by'] as ['kind', 'by'] }
const amount: fc.Arbitrary<Amount> = fc.oneof(
  fc.record({ kind: fc.constant('sum' as const), by: number, exemplar }, sometimes),
  fc.record({ kind: fc.constant('last' as const), value: number, at: fc.nat() }),
  fc.record(
    {
      kind: fc.constant('histogram' as const),
      bounds: fc.constantFrom([1, 5], [2], []),
      counts: fc.array(fc.nat(), { maxLength: 3 }),
      sum: number,
      exemplar,
    },
    { requiredKeys: ['kind', 'bounds', 'counts', 'sum'] },
  ),
)
/** What a metric has of its own is the same in all its increments of these attributes. */
const increment: fc.Arbitrary<Increment> = fc
  .record({ metric: fc.constantFrom('runs', 'jobs', 'names'), attributes: text, amount, folded: fc.boolean() })
  .map(({ folded, ...one }) => ({
    ...one,
    ...(folded ? { folded: true as const } : {}),
    ...(one.metric === 'jobs' ? { maxSeries: 7 } : {}),
    ...(one.metric === 'names' ? { limited: { attribute: 'name', value: one.attributes, max: 2 } } : {}),
  }))
const increments: fc.Arbitrary<ProjectIncrements> = fc.record({
  key: fc.record({ instance: text, projectId: fc.nat() }),
  project: fc.record({ id: fc.nat(), path: text }),
  profile: text,
  maxSeries: fc.nat(),
  increments: fc.array(increment),
})

it('increments are the same after they were written and read', () => {
  fc.assert(
    fc.property(fc.array(increments), all => {
      expect(unpacked(packed(all))).toEqual(all)
    }),
  )
})

it('bytes that are damaged are refused, and so is what misses something', () => {
  expect(() => unpacked(packed([]).subarray(0, -2))).toThrow(DataError)
  expect(() => unpacked(zstdCompressSync('{"series":'))).toThrow(DataError)
  const one = '{"series":[],"bounds":[],"spans":[],"projects":[[{},[[0,0,["sum",1]]]]]}'
  expect(() => unpacked(zstdCompressSync(one))).toThrow(RangeError)
})
