// Tests how a batch is cut into slices. The slices limit memory if the batch contains runs with thousands of jobs.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cut } from '../../../src/core/store/sql/job-pages.ts'

it('cuts items into as few slices as possible, in order, each within the limit unless it is a single larger item', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(100)), fc.integer({ min: 1, max: 200 }), (sizes, most) => {
      const slices = cut(sizes, size => size, most)
      const sums = slices.map(slice => slice.reduce((sum, size) => sum + size, 0))
      expect(slices.flat()).toEqual(sizes)
      slices.forEach((slice, at) => {
        expect(slice.length).toBeGreaterThan(0)
        if (slice.length > 1) expect(sums[at]).toBeLessThanOrEqual(most)
        const next = slices[at + 1]?.[0]
        if (next !== undefined) expect((sums[at] ?? 0) + next).toBeGreaterThan(most)
      })
    }),
  )
})
