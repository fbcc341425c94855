import { describe, expect, it } from 'vitest'
import { createPace } from '../../src/export/pace.ts'
import { silentLog } from '../../src/lib/log.ts'
import { tick } from '../../src/export/order.ts'
import type { Later } from '../../src/export/verdict.ts'

const failure: Later = { as: 'later', kind: 'server', status: 503, words: 'no', outcomeUnknown: false }

/** A pace on a clock that the test moves. */
function paceAt(start: number) {
  let now = start
  const pace = createPace({ first: 1_000, max: 300_000 }, { now: () => now, sleep: async () => undefined }, silentLog())
  return { pace, now: () => now, move: (ms: number) => (now += ms) }
}

describe('the pace of a lane', () => {
  it('grows its pauses with jitter, five minutes at most', () => {
    const { pace, now, move } = paceAt(0)
    for (let failures = 1; failures <= 15; failures += 1) {
      const pause = pace.failed(failure, tick()) - now()
      const full = Math.min(300_000, 1_000 * 2 ** (failures - 1))
      expect(pause).toBeGreaterThanOrEqual(full / 2)
      expect(pause).toBeLessThanOrEqual(full)
      move(pause)
    }
  })

  it('takes requests that fail together for one failure', () => {
    const { pace, move } = paceAt(0)
    const began = tick()
    move(100)
    const until = pace.failed(failure, began)
    move(1)
    for (let other = 0; other < 10; other += 1) pace.failed(failure, began)
    expect(pace.pausedUntil).toBe(until)
  })

  it('obeys Retry-After, even for less than its own pause, but never lets a loop run hot', () => {
    const { pace, now, move } = paceAt(0)
    for (let failures = 0; failures < 8; failures += 1) {
      expect(pace.failed({ ...failure, retryAfterMs: 5_000 }, tick())).toBe(now() + 5_000)
      move(5_000)
    }
    expect(pace.failed({ ...failure, retryAfterMs: 0 }, tick())).toBe(now() + 100)
  })

  it('does not end a pause for a request that got through, nor a series of failures for one from before', () => {
    const { pace, move } = paceAt(0)
    const early = tick()
    const until = pace.failed({ ...failure, retryAfterMs: 60_000 }, tick())
    pace.accepted(tick())
    expect(pace).toMatchObject({ state: 'backing off', pausedUntil: until })
    move(60_000)
    pace.accepted(early)
    expect(pace.state).toBe('backing off')
    pace.accepted(tick())
    expect(pace).toMatchObject({ state: 'open', pausedUntil: 0 })
  })

  it('starts carefully: it is open only after something was accepted', () => {
    const { pace } = paceAt(0)
    expect(pace.state).toBe('starting')
    pace.accepted(tick())
    expect(pace.state).toBe('open')
  })
})
