// Tests polling rounds, which only one of several replicas runs.
import { setImmediate as breathe } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createErrorThrottle } from '../../../src/platform/rest/error-throttle.ts'
import { createRounds } from '../../../src/core/find/rounds.ts'
import { openSqlite } from '../../support/stores.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Clock } from '../../../src/lib/clock.ts'

const second = 1_000
const minute = 60 * second

it('runs rounds at the configured interval, even if that is shorter than the lease renewal interval', async () => {
  const stopping = new AbortController()
  let now = Date.UTC(2026, 0, 1)
  const clock: Clock = {
    now: () => now,
    sleep: async ms => {
      now += ms
    },
  }
  const { leases } = openSqlite(':memory:', { now: () => now, maxSize: 1e9 })
  const ran: number[] = []
  const begun = now
  const errors = createErrorThrottle(silentLog())
  const rounds = createRounds({ name: 'audit', leases, errors, clock, log: silentLog() })
  const loop = rounds.loop({ every: 10_000, retry: 10_000 }, async () => {
    ran.push(now - begun)
    if (ran.length === 4) stopping.abort()
  })
  const stopped = new Promise(resolve => stopping.signal.addEventListener('abort', resolve))
  loop.start()
  await stopped
  await loop.stop()
  expect(ran.slice(0, 4)).toEqual([0, 10_000, 20_000, 30_000])
})

it('starts a requested round at once, and the next one after the usual pause', async () => {
  let now = Date.UTC(2026, 0, 1)
  const begun = now
  const ran: number[] = []
  const clock: Clock = {
    now: () => now,
    sleep: async () => {
      now += second
      if (now === begun + 5 * second) loop.hurry()
      if (ran.length === 3) stop()
    },
  }
  const { leases } = openSqlite(':memory:', { now: () => now, maxSize: 1e9 })
  const shared = { leases, errors: createErrorThrottle(silentLog()), clock, log: silentLog() }
  const loop = createRounds({ name: 'poller', ...shared }).loop({ every: 20 * second, retry: second }, async () => {
    ran.push(now - begun)
  })
  let stop = (): void => undefined
  const stopped = new Promise<void>(resolve => {
    stop = resolve
  })
  loop.start()
  await stopped
  await loop.stop()
  expect(ran).toEqual([0, 5 * second, 25 * second])
})

it('runs rounds on one of two replicas, and on the other as soon as the first has stopped', async () => {
  let now = Date.UTC(2026, 0, 1)
  const asleep = new Set<{ readonly until: number; readonly wake: () => void }>()
  const clock: Clock = {
    now: () => now,
    sleep: async (ms, signal) => {
      await new Promise<void>(resolve => {
        const one = { until: now + ms, wake: resolve }
        asleep.add(one)
        signal?.addEventListener('abort', () => {
          asleep.delete(one)
          resolve()
        })
      })
    },
  }
  /** Moves the clock, and wakes each replica when its pause is over. */
  async function pass(ms: number): Promise<void> {
    const end = now + ms
    for (;;) {
      while (asleep.size < running.size) await breathe()
      const [next] = [...asleep].sort((a, b) => a.until - b.until)
      if (next === undefined || next.until > end) break
      now = next.until
      asleep.delete(next)
      next.wake()
    }
    now = end
  }

  const { leases } = openSqlite(':memory:', { now: () => now, maxSize: 1e9 })
  const ran: string[] = []
  const [one, other] = ['one', 'other'].map(replica =>
    createRounds({
      ...{ name: 'redelivery', leases, clock, log: silentLog() },
      errors: createErrorThrottle(silentLog()),
    }).loop({ every: 5 * minute, retry: second }, async () => void ran.push(replica)),
  )
  const running = new Set([one!, other!])
  one!.start()
  other!.start()
  await pass(21 * minute)
  expect(ran).toEqual(Array(5).fill('one'))
  running.delete(one!)
  await one!.stop()
  await pass(second)
  expect(ran.slice(5)).toEqual(['other'])
  await pass(5 * minute)
  expect(ran.slice(5)).toEqual(['other', 'other'])
  running.delete(other!)
  await other!.stop()
})
