// Events without a version: the same ones come out, whatever the order in which deliveries are processed.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { placeBetween, sameWithin, timeAfter, type ReportedState } from '../../src/model/event-order.ts'
import { runs } from '../full.ts'

/** How many events come of an object's deliveries, processed in this order; each by its place of arrival. */
function eventsOf(reported: readonly ReportedState[], order: readonly number[]): number {
  const seen = new Map<number, ReportedState>()
  let events = 0
  for (const place of order) {
    const places = [...seen.keys()].sort((a, b) => a - b)
    const before = seen.get(places.findLast(one => one < place) ?? -1)
    const after = seen.get(places.find(one => one > place) ?? -1)
    const own = reported[place]!
    events += { again: 0, event: 1, between: 2 }[placeBetween(before, after, own)]
    seen.set(place, own)
  }
  return events
}

it('distinguishes a repetition from a state that returns after another one, in any order of processing', () => {
  const reported = fc.array(fc.constantFrom('on', 'off', 'gone'), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(reported, fc.infiniteStream(fc.nat()), (contents, random) => {
      const states = contents.map((content, at) => ({ content, receivedAt: at * 1_000 }))
      const runsOfEqual = contents.filter((content, at) => content !== contents[at - 1]).length
      const order = states.map((_, at) => at).sort(() => (random.next().value % 3) - 1)
      expect(eventsOf(states, order)).toBe(runsOfEqual)
    }),
    runs(1_000),
  )
})

it('counts equal contents as one event within ten minutes, and as two beyond', () => {
  const at = (receivedAt: number): ReportedState => ({ content: 'expires', receivedAt })
  expect(placeBetween(at(0), undefined, at(sameWithin))).toBe('again')
  expect(placeBetween(at(0), undefined, at(sameWithin + 1))).toBe('event')
  expect(placeBetween(undefined, at(0), at(-sameWithin))).toBe('again')
})

it('orders later events later even if the clock was set back, and does not follow a clock that was far ahead', () => {
  expect(timeAfter(undefined, 5_000)).toBe(5_000)
  expect(timeAfter(4_000, 5_000)).toBe(5_000)
  expect(timeAfter(5_000, 5_000)).toBe(5_001)
  expect(timeAfter(60_000, 5_000)).toBe(60_001)
  expect(timeAfter(sameWithin + 5_001, 5_000)).toBe(5_000)
})
