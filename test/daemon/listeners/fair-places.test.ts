// Places that are divided fairly, for whatever order they are asked for and given back in.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFairPlaces } from '../../../src/lib/busy-limit.ts'
import { runs } from '../../full.ts'

const step = fc.oneof(
  fc.record({ take: fc.constantFrom('a', 'b', 'c', 'd') }),
  fc.record({ release: fc.nat({ max: 30 }) }),
)

it('are never more than the maximum, in all and for each, and whoever is refused holds as many as anybody or their maximum', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 8 }),
      (steps, max, maxEach) => {
        const places = createFairPlaces<number>({ max, maxEach })
        const holders: string[] = []
        const held = (): Map<string, number> => {
          const counts = new Map<string, number>()
          for (const item of places.items()) counts.set(holders[item]!, (counts.get(holders[item]!) ?? 0) + 1)
          return counts
        }
        for (const one of steps) {
          if ('release' in one) {
            places.release(one.release)
            expect(places.items()).not.toContain(one.release)
            continue
          }
          const before = held()
          const most = Math.max(0, ...before.values())
          const own = before.get(one.take) ?? 0
          const item = holders.push(one.take) - 1
          const taken = places.take(one.take, item)
          if (taken === 'refused') {
            expect(own === maxEach || own + 1 >= most).toBe(true)
            expect(held()).toEqual(before)
          } else {
            expect(places.items()).toContain(item)
            if (taken.instead !== undefined) expect(before.get(holders[taken.instead]!)).toBe(most)
          }
          expect(places.items().length).toBeLessThanOrEqual(max)
          expect(Math.max(0, ...held().values())).toBeLessThanOrEqual(maxEach)
        }
      },
    ),
    runs(1_000),
  )
})
