// Bins that are counted in lists are those that would be counted in objects.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BinCounts, binOf, plusBins, type Bins } from '../../src/lib/log-bins.ts'

const values = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 60 })

function counted(some: readonly number[]): BinCounts {
  const counts = new BinCounts()
  for (const value of some) counts.count(value)
  return counts
}

function binsOf(some: readonly number[]): Bins {
  return some.map(value => ({ [binOf(value)]: 1 })).reduce<Bins>(plusBins, {})
}

it('counts, adds and writes like plain objects of bins', () => {
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
