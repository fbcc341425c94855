// Tests events without a version: which deliveries count as the same event, and which time the event gets.
import { expect, it } from 'vitest'
import { isAgain, sameWithin, timeAfter, type ReportedState } from '../../src/core/store/sql/events.ts'

const reported = (content: string, receivedAt: number): ReportedState => ({ content, receivedAt })

it('distinguishes a repeated event from a return to an earlier state', () => {
  const states = ['on', 'on', 'off', 'off', 'on'].map((content, index) => reported(content, index * 1_000))
  const areAgain = states.map((state, index) => isAgain(states[index - 1], state))
  expect(areAgain).toEqual([false, true, false, true, false])
})

it('counts identical contents within ten minutes as one event, even if the clock was set back, and later ones as a new event', () => {
  const first = reported('expires', 0)
  expect(isAgain(first, reported('expires', sameWithin))).toBe(true)
  expect(isAgain(first, reported('expires', -sameWithin))).toBe(true)
  expect(isAgain(first, reported('expires', sameWithin + 1))).toBe(false)
})

it('gives each event a later time than the previous one even if the clock was set back, but ignores a previous time far ahead', () => {
  expect(timeAfter(undefined, 5_000)).toBe(5_000)
  expect(timeAfter(4_000, 5_000)).toBe(5_000)
  expect(timeAfter(5_000, 5_000)).toBe(5_001)
  expect(timeAfter(60_000, 5_000)).toBe(60_001)
  expect(timeAfter(sameWithin + 5_001, 5_000)).toBe(5_000)
})
