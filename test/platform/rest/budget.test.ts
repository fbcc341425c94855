// Tests the API budget. It never grants more requests than its limit, and serves urgent requests first.
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { leapingClock } from './platform-server.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'
import { freshBudget, grant, observe, snapshotOf, type BudgetState } from '../../../src/platform/rest/budget.ts'
import { priorities } from '../../../src/platform/port.ts'

const minute = 60_000
const perMinute = fc.integer({ min: 1, max: 400 })
const priority = fc.constantFrom(...priorities)

/** Returns the times of all granted requests if each caller sends requests as often as possible, with the given pauses between them. */
function grantedAt(limit: number, pauses: readonly number[], who: readonly (typeof priorities)[number][]): number[] {
  const rules = { perMinute: limit }
  let state = freshBudget(rules, 0)
  let now = 0
  const granted: number[] = []
  for (const [turn, pause] of pauses.entries()) {
    now += pause
    for (const one of who) {
      for (let ask = 0; ask < limit + (turn % 3); ask++) {
        const { state: after, waitMs } = grant(rules, state, now, one)
        state = after
        if (waitMs === 0) granted.push(now)
      }
    }
  }
  return granted
}

describe('the API budget', () => {
  it('grants at most `limit` requests in any minute, for any callers and pauses', () => {
    const pauses = fc.array(fc.oneof(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: minute })), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(perMinute, pauses, fc.array(priority, { minLength: 1, maxLength: 3 }), (limit, times, who) => {
        const granted = grantedAt(limit, times, who)
        granted.forEach((at, index) => {
          const limitLater = granted[index + limit]
          if (limitLater !== undefined) expect(limitLater - at).toBeGreaterThanOrEqual(minute)
        })
      }),
      { numRuns: 40 },
    )
  })

  it('never makes a higher priority wait longer than a lower priority', () => {
    const state: fc.Arbitrary<BudgetState> = fc.record(
      {
        tokens: fc.double({ min: 0, max: 60, noNaN: true }),
        at: fc.integer({ min: 0, max: 2 * minute }),
        pausedUntil: fc.integer({ min: 0, max: 3 * minute }),
        announced: fc.record({ remaining: fc.integer({ min: 0, max: 50 }), until: fc.integer({ max: 3 * minute }) }),
      },
      { requiredKeys: ['tokens', 'at'] },
    )
    fc.assert(
      fc.property(perMinute, state, fc.integer({ min: 0, max: 2 * minute }), (limit, before, now) => {
        const waits = priorities.map(one => grant({ perMinute: limit }, before, now, one).waitMs)
        expect(waits).toEqual(waits.toSorted((a, b) => a - b))
      }),
      // In this example the announced limit resets before the budget refills.
      { examples: [[1, { tokens: 0, at: 0, announced: { remaining: 1, until: 1 } }, 0]] },
    )
  })

  it('grants enrichment requests at once during a backfill if the limit is at least 15 requests a minute', () => {
    fc.assert(
      fc.property(fc.integer({ min: 15, max: 400 }), fc.integer({ min: 1, max: 200 }), (limit, rounds) => {
        const rules = { perMinute: limit }
        let state = freshBudget(rules, 0)
        let now = 0
        for (let round = 0; round < rounds; round++) {
          const { state: after, waitMs } = grant(rules, state, now, 'backfill')
          state = after
          now += waitMs
        }
        expect(grant(rules, state, now, 'enrich').waitMs).toBe(0)
      }),
    )
  })

  it("grants a page's requests within seconds during polling and backfills, but after enrichment requests", () => {
    fc.assert(
      fc.property(fc.integer({ min: 30, max: 400 }), fc.integer({ min: 1, max: 200 }), (limit, rounds) => {
        const rules = { perMinute: limit }
        let state = freshBudget(rules, 0)
        let now = 0
        for (let round = 0; round < rounds; round++) {
          for (const one of ['poll', 'backfill', 'inside'] as const) state = grant(rules, state, now, one).state
          now += 100
        }
        expect(grant(rules, state, now, 'page').waitMs).toBeLessThan(2_500)
        expect(grant(rules, state, now, 'enrich').waitMs).toBeLessThanOrEqual(grant(rules, state, now, 'page').waitMs)
      }),
    )
  })

  it('grants a tiny budget only to the higher-priority caller while both are waiting', () => {
    const rules = { perMinute: 1 }
    let state = freshBudget(rules, 0)
    const served: string[] = []
    for (let now = 0; now < 10 * minute; now += 1_000) {
      for (const one of ['backfill', 'poll', 'enrich'] as const) {
        const { state: after, waitMs } = grant(rules, state, now, one)
        state = after
        if (waitMs === 0) served.push(one)
      }
    }
    // When the first request arrived, no other request was waiting. From then on, enrichment requests are always waiting.
    expect(served.slice(1)).toEqual(served.slice(1).map(() => 'enrich'))
    expect(served.length).toBeGreaterThan(4)
  })

  it('grants a waiting request at the announced time if there are no other requests', () => {
    const tokens = fc.double({ min: 0, max: 60, noNaN: true })
    fc.assert(
      fc.property(perMinute, tokens, fc.integer({ min: 0, max: minute }), priority, (limit, left, now, who) => {
        const rules = { perMinute: limit }
        const first = grant(rules, { tokens: left, at: 0 }, now, who)
        if (first.waitMs > 0) expect(grant(rules, first.state, now + first.waitMs, who).waitMs).toBe(0)
      }),
      { examples: [[3, 0, 6, 'enrich']] },
    )
  })

  it('makes all requests wait while the platform asks for a pause', () => {
    const rules = { perMinute: 300 }
    const state = observe(freshBudget(rules, 0), { pause: 7_000 }, 1_000)
    for (const one of priorities) expect(grant(rules, state, 2_000, one).waitMs).toBe(6_000)
    expect(grant(rules, state, 8_000, 'backfill').waitMs).toBe(0)
    expect(snapshotOf(rules, state, 2_000)).toEqual({ perMinute: 300, available: 0, pausedFor: 6_000 })
  })

  it('applies the longer of two pauses, in whatever order they are reported', () => {
    const rules = { perMinute: 300 }
    const short = { pause: 1_000 }
    const long = { pause: 9_000 }
    const fresh = freshBudget(rules, 0)
    expect(observe(observe(fresh, short, 0), long, 0)).toEqual(observe(observe(fresh, long, 0), short, 0))
  })

  it("grants no more requests than the platform's remaining limit, and reserves the last ones for high priorities", () => {
    const rules = { perMinute: 300 }
    let state = observe(freshBudget(rules, 0), { remaining: 20, resetIn: 30_000 }, 0)
    let granted = 0
    for (const one of ['backfill', 'poll', 'enrich'] as const) {
      for (;;) {
        const { state: after, waitMs } = grant(rules, state, 0, one)
        state = after
        if (waitMs > 0) {
          expect(waitMs).toBe(30_000)
          break
        }
        granted++
      }
      expect(granted).toBe({ backfill: 0, poll: 3, enrich: 20 }[one])
    }
    expect(snapshotOf(rules, state, 0)).toMatchObject({ available: 0, remaining: 0 })
    expect(grant(rules, state, 30_000, 'backfill').waitMs).toBe(0)
  })

  it('does not raise the budget because of a late response', () => {
    const rules = { perMinute: 300 }
    const tight = observe(freshBudget(rules, 0), { remaining: 3, resetIn: 30_000 }, 0)
    expect(observe(tight, { remaining: 40, resetIn: 30_000 }, 10).announced?.remaining).toBe(3)
  })

  it('continues to grant requests after the clock is set back by any amount', () => {
    const rules = { perMinute: 60 }
    const spent: BudgetState = { tokens: 0, at: 10 * minute }
    const littleBack = grant(rules, spent, 10 * minute - 5_000, 'enrich')
    expect(littleBack.state).toEqual(spent)
    const muchBack = grant(rules, spent, minute, 'enrich')
    expect(grant(rules, muchBack.state, minute + muchBack.waitMs, 'enrich').waitMs).toBe(0)
  })
})

describe('an in-memory API budget', () => {
  it('makes callers wait their turn, and grants all of their requests', async () => {
    const clock = leapingClock()
    const start = clock.now()
    const budget = createInMemoryBudget({ perMinute: 60 }, clock)
    await Promise.all(Array.from({ length: 130 }, () => budget.take('enrich')))
    expect(clock.now() - start).toBeGreaterThan(minute)
    expect((await budget.snapshot()).available).toBe(0)
  })
})
