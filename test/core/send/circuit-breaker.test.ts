// Tests the states of the circuit breaker, with a clock that the test moves.
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { CircuitBreaker, type TripCause } from '../../../src/core/send/circuit-breaker.ts'
import { listeningLog } from './bench.ts'
import { Secret } from '../../../src/lib/secret.ts'
import type { Later } from '../../../src/core/send/verdict.ts'

const away: Later = { as: 'later', kind: 'server', status: 503, message: 'no', outcomeUnknown: false }
const minute = 60_000
const causes: TripCause[] = ['unavailable', 'unauthorized', 'unacceptable']
const longest: Record<TripCause, number> = { unavailable: 5 * minute, unauthorized: minute, unacceptable: minute }

function world() {
  let now = 0
  let token = 'one'
  const { log, lines } = listeningLog()
  const breaker = new CircuitBreaker({
    bearer: { current: () => new Secret(token), reload: async () => undefined },
    pauses: { first: 1_000, max: 5 * minute },
    probes: { first: 1_000, max: minute },
    clock: { now: () => now, sleep: async () => undefined },
    log,
  })
  return {
    breaker,
    lines,
    move: (ms: number) => (now += ms),
    rotate: (to: string) => (token = to),
    trip: (cause: TripCause, failure: Later = away) => breaker.trip(cause, failure, new Secret(token)),
  }
}

describe('a circuit breaker', () => {
  it('is closed at first, and admits one small batch at a time until a request is accepted', async () => {
    const { breaker } = world()
    expect([breaker.state, breaker.isProven, await breaker.admit()]).toEqual(['closed', false, 8])
    breaker.accepted()
    expect([breaker.state, breaker.isProven, await breaker.admit()]).toEqual(['closed', true, Infinity])
  })

  it.each(causes)(
    'moves from closed to open, half-open and, once a probe is accepted, back to closed: %s',
    async cause => {
      const { breaker, trip, move, lines } = world()
      breaker.accepted()
      trip(cause)
      expect([breaker.state, breaker.cause, breaker.isProven, await breaker.admit()]).toEqual(['open', cause, false, 0])
      move(1_000)
      expect(breaker.state).toBe('half-open')
      expect(await breaker.admit()).toBeLessThanOrEqual(8)
      breaker.accepted()
      expect([breaker.state, breaker.cause, breaker.nextTry, breaker.isProven]).toEqual([
        'closed',
        undefined,
        undefined,
        true,
      ])
      expect(lines.map(({ message }) => message.slice(0, 22))).toEqual([
        'circuit breaker open: ',
        'circuit breaker closed',
      ])
    },
  )

  it.each(causes)('waits longer after each failed probe, up to a maximum: %s', cause => {
    const { breaker, trip, move, lines } = world()
    let before = 0
    for (let n = 0; n < 20; n += 1) {
      const pause = trip(cause)
      expect(pause).toBeLessThanOrEqual(longest[cause])
      // Jitter shortens a pause by at most half.
      expect(pause).toBeGreaterThanOrEqual(Math.min(before, longest[cause]) / 2)
      before = pause
      move(pause)
      expect(breaker.state).toBe('half-open')
    }
    expect(before).toBeGreaterThanOrEqual(longest[cause] / 2)
    expect(lines).toHaveLength(1)
  })

  it('counts concurrent failed requests as one failure', () => {
    const { breaker, trip, move } = world()
    for (let n = 0; n < 10; n += 1) trip('unavailable')
    expect(breaker.pause).toBeLessThanOrEqual(1_000)
    move(breaker.pause)
    expect(trip('unavailable')).toBeLessThanOrEqual(2_000)
  })

  it('stays open when an older request succeeds, and extends its pause on a later Retry-After', () => {
    const { breaker, trip } = world()
    trip('unavailable')
    breaker.accepted()
    expect(breaker.state).toBe('open')
    expect(trip('unavailable', { ...away, retryAfterMs: 600_000 })).toBe(600_000)
    expect(trip('unavailable', { ...away, retryAfterMs: 0 })).toBe(600_000)
  })

  it('ends the pause after rejected credentials only when the token changes', async () => {
    const { breaker, trip, move, rotate } = world()
    for (let n = 0; n < 5; n += 1) move(trip('unauthorized'))
    trip('unauthorized')
    move(600)
    expect(await breaker.admit()).toBe(0)
    rotate('two')
    move(600)
    expect(await breaker.admit()).toBe(4)
  })

  it('reads the token again during a pause after rejected credentials, and probes with a changed one', async () => {
    let [now, stored, current] = [0, 'one', 'one']
    const breaker = new CircuitBreaker({
      bearer: { current: () => new Secret(current), reload: async () => void (current = stored) },
      pauses: { first: 1_000, max: 5 * minute },
      probes: { first: minute, max: minute },
      clock: { now: () => now, sleep: async () => undefined },
      log: listeningLog().log,
    })
    breaker.trip('unauthorized', away, new Secret('one'))
    now += 5_000
    expect(await breaker.admit()).toBe(0)
    stored = 'two'
    now += 5_000
    expect(await breaker.admit()).toBe(4)
  })

  it('always sends a probe eventually, whatever happened before', () => {
    const happening = fc.oneof(
      fc.constantFrom<TripCause | 'accepted' | 'asked'>(...causes, 'accepted', 'asked'),
      fc.integer({ min: 0, max: 10 * minute }),
    )
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 40 }), all => {
        const { breaker, trip, move } = world()
        for (const one of all) {
          if (typeof one === 'number') move(one)
          else if (one === 'accepted') breaker.accepted()
          else if (one === 'asked') breaker.tryNow()
          else trip(one)
          expect(breaker.pause).toBeLessThanOrEqual(5 * minute)
        }
        move(5 * minute)
        expect(breaker.state).not.toBe('open')
      }),
    )
  })
})
