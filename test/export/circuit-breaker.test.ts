// The circuit breaker as a machine, on a clock that the test moves.
import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { createCircuitBreaker, type QueueBreaker } from '../../src/export/circuit-breaker.ts'
import { listeningLog } from './bench.ts'
import { Secret } from '../../src/lib/secret.ts'
import { tick } from '../../src/export/sender.ts'
import type { Later, Unacceptable, Unauthorized } from '../../src/export/verdict.ts'

const away: Later = { as: 'later', kind: 'server', status: 503, message: 'no', outcomeUnknown: false }
const unauthorized: Unauthorized = { as: 'unauthorized', status: 401, message: 'no' }
const refused: Unacceptable = { as: 'unacceptable', status: 400, message: 'what is this' }
const minute = 60_000

function world() {
  let now = 0
  let token = 'one'
  let closed = 0
  const { log, lines } = listeningLog()
  const queue = createCircuitBreaker({
    destination: 'default',
    bearer: { current: () => new Secret(token), reload: async () => undefined },
    pauses: { first: 1_000, max: 5 * minute },
    probes: { first: 1_000, max: minute },
    clock: { now: () => now, sleep: async () => undefined },
    log,
    onClosed: () => (closed += 1),
  })
  return {
    queue,
    lines,
    now: () => now,
    move: (ms: number) => (now += ms),
    rotate: (to: string) => (token = to),
    closed: () => closed,
    /** Ms until the next probe is let in. */
    untilProbe: async (one: QueueBreaker): Promise<number> => {
      const since = now
      for (;;) {
        const admission = await one.admit()
        if (admission.may === 'probe') return now - since
        if (admission.may !== 'wait') throw new Error('it is closed')
        now += admission.ms
      }
    },
  }
}

type World = ReturnType<typeof world>

/** What each cause of a trip looks like: an answer to a request that begins now. */
const trips = {
  unavailable: (one: QueueBreaker) => one.unavailable(away, tick()),
  unauthorized: (one: QueueBreaker) => one.unauthorized(unauthorized, new Secret('one'), tick()),
  unacceptable: (one: QueueBreaker) => one.unacceptable(refused, tick()),
}
type Cause = keyof typeof trips
const causes = Object.keys(trips) as Cause[]
const longest: Record<Cause, number> = { unavailable: 5 * minute, unauthorized: minute, unacceptable: minute }

describe('a circuit breaker', () => {
  it('is closed at first, and admits one small batch at a time until something is accepted', async () => {
    const one = world().queue('traces')
    expect([one.state, one.isProven, await one.admit()]).toEqual(['closed', false, { may: 'send', items: 8 }])
    one.accepted(tick())
    expect([one.state, one.isProven, await one.admit()]).toEqual(['closed', true, { may: 'send', items: Infinity }])
  })

  it.each(causes)('goes from closed to open, half-open and, once a probe is accepted, closed: %s', async cause => {
    const { queue, move, lines, closed } = world()
    const one = queue('traces')
    trips[cause](one)
    expect(one).toMatchObject({ state: 'open', cause, isProven: false })
    expect([one.maySend(false), one.maySend(true), (await one.admit()).may]).toEqual([false, false, 'wait'])
    move(1_000)
    expect([one.state, (await one.admit()).may]).toEqual(['half-open', 'probe'])
    expect([one.maySend(false), one.maySend(true)]).toEqual([false, true])
    one.accepted(tick())
    one.probed()
    expect(one).toMatchObject({ state: 'closed', cause: undefined, nextTry: undefined, isProven: true })
    expect(closed()).toBe(1)
    expect(lines.map(({ message }) => message.split(':')[0])).toEqual([
      'circuit breaker open',
      'circuit breaker closed',
    ])
  })

  it.each(causes)('goes from half-open to open again, each time for longer, up to a limit: %s', async cause => {
    const { queue, untilProbe, lines } = world()
    const one = queue('traces')
    trips[cause](one)
    for (let probe = 1; probe <= 12; probe += 1) {
      const waited = await untilProbe(one)
      const full = Math.min(longest[cause], 1_000 * 2 ** (probe - 1))
      expect(waited).toBeGreaterThanOrEqual(full / 2)
      expect(waited).toBeLessThanOrEqual(full)
      trips[cause](one)
      one.probed()
      expect(one.state).toBe('open')
    }
    expect(lines).toHaveLength(1)
  })

  it('counts requests that fail together as one failure', () => {
    const { queue, move } = world()
    const one = queue('traces')
    const began = [tick(), tick(), tick()]
    one.unavailable(away, began[0]!)
    const { nextTry } = one
    move(1)
    for (const each of began) one.unavailable(away, each)
    expect(one.nextTry).toBe(nextTry)
  })

  it('obeys Retry-After, even if it is shorter than its own pause, with a minimum that prevents a busy loop', () => {
    const { queue, move } = world()
    const one = queue('traces')
    for (let failures = 0; failures < 8; failures += 1) {
      expect(one.unavailable({ ...away, retryAfterMs: 5_000 }, tick())).toBe(5_000)
      move(5_000)
    }
    expect(one.unavailable({ ...away, retryAfterMs: 0 }, tick())).toBe(100)
  })

  it('obeys the Retry-After of a request in flight, and does not end its pause when another one succeeds', () => {
    const { queue, move } = world()
    const one = queue('traces')
    const early = tick()
    one.unavailable(away, tick())
    expect(one.unavailable({ ...away, retryAfterMs: minute }, early)).toBe(minute)
    one.accepted(tick())
    expect(one).toMatchObject({ state: 'open', nextTry: minute })
    move(minute)
    one.accepted(early)
    expect(one.state).toBe('half-open')
    one.accepted(tick())
    expect(one.state).toBe('closed')
  })

  it('has a circuit for each queue, so that one unavailable endpoint stops no other', async () => {
    const { queue } = world()
    const [traces, logs, metrics] = [queue('traces'), queue('logs'), queue('metrics')]
    trips.unavailable(traces)
    trips.unacceptable(logs)
    expect([traces.state, logs.state, metrics.state]).toEqual(['open', 'open', 'closed'])
    expect((await metrics.admit()).may).toBe('send')
  })
})

describe('refused credentials', () => {
  it('open the breaker for all queues of the destination, one of which probes', async () => {
    const { queue, untilProbe, closed } = world()
    const [traces, logs] = [queue('traces'), queue('logs')]
    trips.unauthorized(traces)
    expect(logs).toMatchObject({ state: 'open', cause: 'unauthorized' })
    await untilProbe(logs)
    expect((await traces.admit()).may).toBe('wait')
    // It had nothing to send: the next one may.
    logs.probed()
    expect(await traces.admit()).toEqual({ may: 'probe', items: 4 })
    traces.authorized(tick())
    expect([traces.state, logs.state, closed()]).toEqual(['closed', 'closed', 1])
  })

  it('are probed once, immediately, when the token differs from the refused one', async () => {
    const { queue, rotate } = world()
    const one = queue('traces')
    trips.unauthorized(one)
    expect((await one.admit()).may).toBe('wait')
    rotate('two')
    expect((await one.admit()).may).toBe('probe')
    one.unauthorized(unauthorized, new Secret('two'), tick())
    one.probed()
    expect((await one.admit()).may).toBe('wait')
  })

  it('stay refused after an answer to an earlier request', () => {
    const { queue } = world()
    const one = queue('traces')
    const before = tick()
    trips.unauthorized(one)
    one.accepted(before)
    expect(one.state).toBe('open')
    one.authorized(tick())
    expect(one.state).toBe('closed')
  })

  it('are not proven valid by a probe that fails for another reason', async () => {
    const { queue, untilProbe } = world()
    const one = queue('traces')
    trips.unauthorized(one)
    await untilProbe(one)
    trips.unavailable(one)
    one.probed()
    expect(one).toMatchObject({ state: 'open', cause: 'unauthorized' })
    expect(await untilProbe(one)).toBeGreaterThanOrEqual(1_000)
  })
})

describe('a destination that refuses everything', () => {
  it('has its breaker closed only by an acceptance', () => {
    const { queue, move } = world()
    const one = queue('traces')
    trips.unacceptable(one)
    move(1_000)
    one.authorized(tick())
    expect(one.state).toBe('half-open')
    one.accepted(tick())
    expect(one).toMatchObject({ state: 'closed', hasAccepted: true })
  })

  it('keeps that cause when it is unavailable in between', () => {
    const { queue, move, lines } = world()
    const one = queue('traces')
    trips.unacceptable(one)
    move(1_000)
    expect(one.unavailable({ ...away, retryAfterMs: 7_000 }, tick())).toBe(7_000)
    expect(one).toMatchObject({ state: 'open', cause: 'unacceptable' })
    expect(lines.map(({ level }) => level)).toEqual(['error'])
  })

  it('gets that cause even if it was unavailable before', () => {
    const { queue, move, lines } = world()
    const one = queue('traces')
    trips.unavailable(one)
    move(1_000)
    trips.unacceptable(one)
    expect(one).toMatchObject({ state: 'open', cause: 'unacceptable' })
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'error'])
  })

  it('delays refused entries until after the next probe, so that others are tried', async () => {
    const { queue, now, untilProbe } = world()
    const one = queue('traces')
    let due = now() + trips.unacceptable(one)
    for (let probe = 0; probe < 10; probe += 1) {
      await untilProbe(one)
      expect(due).toBeGreaterThan(now())
      due = now() + trips.unacceptable(one)
      one.probed()
    }
  })

  it('no longer counts as one after any queue had an acceptance; a tripped queue goes on with small batches', async () => {
    const { queue, untilProbe } = world()
    const [traces, logs] = [queue('traces'), queue('logs')]
    trips.unacceptable(logs)
    traces.accepted(tick())
    trips.unacceptable(traces)
    expect(traces).toMatchObject({ state: 'closed', hasAccepted: true })
    await untilProbe(logs)
    trips.unacceptable(logs)
    expect(logs).toMatchObject({ state: 'open', hasAccepted: true })
  })
})

it('keeps its invariants for any answers in any order', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('answer'), as: fc.constantFrom('accepted', 'authorized', ...causes) }),
    fc.record({ do: fc.constant('move'), ms: fc.nat(90_000) }),
    fc.record({ do: fc.constant('rotate'), ms: fc.nat(3) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(1), step), { maxLength: 60 }), async steps => {
      const all = world()
      const queues = [all.queue('traces'), all.queue('logs')]
      for (const [which, each] of steps) {
        const one = queues[which]!
        if (each.do === 'move') all.move(each.ms)
        else if (each.do === 'rotate') all.rotate(`token ${each.ms}`)
        else if (each.as === 'accepted') one.accepted(tick())
        else if (each.as === 'authorized') one.authorized(tick())
        else trips[each.as](one)
        await expectSound(all, queues)
      }
      // Whatever came before: once everything is accepted, it is closed after one pause and one probe each.
      all.move(5 * minute)
      for (const one of queues) {
        one.accepted(tick())
        expect(one).toMatchObject({ state: 'closed', isProven: true })
      }
    }),
  )
})

async function expectSound({ now }: World, queues: readonly QueueBreaker[]): Promise<void> {
  let probes = 0
  for (const one of queues) {
    expect(one.cause === undefined).toBe(one.state === 'closed')
    expect(one.nextTry === undefined).toBe(one.state === 'closed')
    expect((one.nextTry ?? 0) - now()).toBeLessThanOrEqual(5 * minute)
    const { state } = one
    const admission = await one.admit()
    if (admission.may === 'send') expect(state).toBe('closed')
    if (admission.may === 'probe') expect(one.state).toBe('half-open')
    if (admission.may === 'wait') expect([admission.ms > 0, one.isProven]).toEqual([true, false])
    if (admission.may === 'probe' && one.cause === 'unauthorized') probes += 1
  }
  expect(probes).toBeLessThanOrEqual(1)
  for (const one of queues) one.probed()
}
