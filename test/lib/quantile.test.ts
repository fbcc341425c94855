// Tests that medians and percentiles of lists and of histogram bins have the same definition.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BinCounts, binOf, percentileOf, plusBins, type Bins } from '../../src/lib/log-bins.ts'
import { median, quantile } from '../../src/lib/quantile.ts'

const values = fc.array(fc.double({ min: 1, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 60 })

function binsOf(some: readonly number[]): Bins {
  return some.map(value => ({ [binOf(value)]: 1 })).reduce<Bins>(plusBins, {})
}

describe('the median of several values', () => {
  it('returns the middle value as the median, or the mean of the two middle values', () => {
    expect(median([])).toBeUndefined()
    expect(median([7])).toBe(7)
    expect(median([30, 10, 20])).toBe(20)
    expect(median([40, 10, 20, 32])).toBe(26)
  })

  it('computes a median from bins that differs from the exact median by at most 5 %', () => {
    const [fast, slow] = [60_000, 600_000]
    expect(percentileOf(binsOf([fast, slow]), 0.5)).toBeGreaterThan(0.95 * 330_000)
    expect(percentileOf(binsOf([fast, slow]), 0.5)).toBeLessThan(1.05 * 330_000)
    expect(percentileOf({}, 0.5)).toBeUndefined()
  })
})

it('computes percentiles by the nearest rank', () => {
  const hundred = Array.from({ length: 100 }, (_, at) => 100 - at)
  expect(quantile(hundred, 0.95)).toBe(95)
  expect(quantile(hundred, 0.07)).toBe(7)
  expect(quantile(hundred, 1)).toBe(100)
  expect(quantile([5, 9], 0.95)).toBe(9)
})

it('computes percentiles from bins that differ from the exact ones by at most 5 %', () => {
  fc.assert(
    fc.property(values, fc.constantFrom(0.05, 0.5, 0.9, 0.95, 0.99, 1), (some, share) => {
      const [exact, binned] = [quantile(some, share), percentileOf(binsOf(some), share)]
      expect(Math.abs((binned ?? 0) - (exact ?? 0))).toBeLessThanOrEqual((exact ?? 0) * 0.05)
    }),
  )
})

function counted(some: readonly number[]): BinCounts {
  const counts = new BinCounts()
  for (const value of some) counts.count(value)
  return counts
}

it('counts, adds up and serializes bins with the same results as plain objects', () => {
  fc.assert(
    fc.property(values, values, (a, b) => {
      const sum = counted(a)
      const before = sum.copy()
      sum.add(counted(b))
      const all = binsOf([...a, ...b])
      expect(sum.bins()).toEqual(all)
      expect(sum.json()).toBe(JSON.stringify(all))
      expect(before.bins()).toEqual(binsOf(a))
      before.addBins(binsOf(b))
      expect(before.json()).toBe(sum.json())
    }),
  )
})
