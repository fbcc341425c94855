// Tests the platform's rate limits. A single response makes the whole client wait.
import { describe, expect, it } from 'vitest'
import {
  answer,
  clientOf,
  fixture,
  inTurn,
  json,
  leapingClock,
  poll,
  rejection,
  startPlatform,
} from './platform-server.ts'
import { grant, observe } from '../../../src/platform/rest/budget.ts'
import { budgetFactsOf, isOfEndpoint } from '../../../src/platform/rest/answer.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { createInMemoryBudget } from '../../../src/platform/rest/budget.ts'

const project = (fixture('group-projects.json') as unknown[])[0]
const later = (headers: Record<string, string>) => answer(429, 'Retry later\n', headers)

describe('a response with the status 429', () => {
  it("delays the retry of a request by the time in a 429's Retry-After header", async () => {
    await using platform = await startPlatform(inTurn(later({ 'retry-after': '42' }), json(project)))
    await using test = clientOf(platform.url)
    await expect(test.client.project(4711, poll)).resolves.toMatchObject({ id: 4711 })
    expect(test.clock.slept).toEqual([42_000])
    expect(platform.asked).toHaveLength(2)
  })

  it('delays every request of the client after a 429, not only the request that received it', async () => {
    await using platform = await startPlatform(inTurn(later({ 'retry-after': '42' }), json(project)))
    await using test = clientOf(platform.url, { retry: { tries: 1, refusals: 1, first: 1, max: 1 } })
    await rejection(test.client.project(1, poll))
    const before = test.clock.now()
    await test.client.project(2, { priority: 'enrich' })
    expect(test.clock.now() - before).toBe(42_000)
    expect(test.logged.filter(line => line.includes('limits the rate of requests'))).toHaveLength(1)
  })

  it('delays each retry longer than the previous retry if a 429 has no Retry-After, until the request fails', async () => {
    await using platform = await startPlatform(later({}))
    await using test = clientOf(platform.url, { retry: { tries: 1, refusals: 4, first: 1_000, max: 60_000 } })
    const error = await rejection(test.client.project(4711, poll))
    expect(error).toMatchObject({ kind: 'limited', status: 429, detail: 'Retry later', passing: true })
    expect(error.message).toMatch(/Lower PIPESPAN_PLATFORM_BUDGET/)
    expect(platform.asked).toHaveLength(4)
    const [first, second, third] = test.clock.slept
    expect(first).toBeGreaterThanOrEqual(500)
    expect(second).toBeGreaterThanOrEqual(1_000)
    expect(third).toBeGreaterThanOrEqual(2_000)
  })

  it('stops delaying a request that its caller aborts', async () => {
    await using platform = await startPlatform(later({ 'retry-after': '42' }))
    const leaving = new AbortController()
    const clock: Clock = { now: () => 0, sleep: async () => leaving.abort(new Error('shutting down')) }
    const budget = createInMemoryBudget({ perMinute: 300 }, clock)
    await using test = clientOf(platform.url, { budget })
    await expect(test.client.project(4711, { ...poll, signal: leaving.signal })).rejects.toThrow('shutting down')
  })
})

describe('a 429 for the rate limit of one endpoint', () => {
  const body = JSON.stringify({ message: { error: 'This endpoint has been requested too many times.' } })
  const own = (headers: Record<string, string>) => answer(429, body, { 'content-type': 'application/json', ...headers })

  it('delays only the request that received a 429 for the rate limit of one endpoint', async () => {
    await using platform = await startPlatform(inTurn(own({ 'retry-after': '20' }), json(project)))
    const clock = leapingClock()
    const budget = createInMemoryBudget({ perMinute: 300 }, clock)
    const paused: Promise<number>[] = []
    const sleep = async (ms: number) => {
      paused.push(budget.snapshot().then(({ pausedFor }) => pausedFor))
      await clock.sleep(ms)
    }
    await using test = clientOf(platform.url, { budget, clock: { ...clock, sleep } })
    await test.client.project(1, poll)
    expect(clock.slept).toEqual([20_000])
    expect(await Promise.all(paused)).toEqual([0])
  })

  it('reports a 429 to the caller, instead of retrying, if its Retry-After is long', async () => {
    await using platform = await startPlatform(own({ 'retry-after': '600' }))
    await using test = clientOf(platform.url)
    expect(await rejection(test.client.project(1, poll))).toMatchObject({ kind: 'limited' })
    expect(platform.asked).toHaveLength(1)
    expect(test.clock.slept).toEqual([])
  })

  it("delays all requests after a 429 with the headers of the platform's general rate limit", () => {
    expect(isOfEndpoint(429, {}, ['message'])).toBe(true)
    expect(isOfEndpoint(429, { 'ratelimit-reset': '9' }, ['message'])).toBe(false)
    expect(isOfEndpoint(429, {}, [])).toBe(false)
    expect(isOfEndpoint(503, {}, ['message'])).toBe(false)
  })
})

describe('the rate limits that the platform announces', () => {
  it('lowers the API budget to the announced limit before a 429 is received', async () => {
    const soon = { 'ratelimit-limit': '600', 'ratelimit-remaining': '1', 'ratelimit-reset': '30' }
    await using platform = await startPlatform(json(project, soon))
    await using test = clientOf(platform.url)
    await test.client.project(1, { priority: 'enrich' })
    await test.client.project(2, { priority: 'enrich' })
    expect(test.clock.slept).toEqual([])
    await test.client.project(3, { priority: 'enrich' })
    expect(test.clock.slept).toEqual([30_000])
  })

  it("interprets announced times by the platform's clock, even if the local clock is wrong", () => {
    const date = 'Tue, 11 Mar 2025 08:00:00 GMT'
    const reset = String(Date.parse(date) / 1000 + 25)
    const headers = { date, 'ratelimit-remaining': '7', 'ratelimit-reset': reset }
    const hoursOff = Date.parse(date) + 5 * 3_600_000
    expect(budgetFactsOf(200, headers, hoursOff, 1)).toEqual({ remaining: 7, resetIn: 25_000 })
    expect(budgetFactsOf(429, headers, hoursOff, 1)).toEqual({ remaining: 7, resetIn: 25_000, pause: 25_000 })
    const until = { date, 'retry-after': 'Tue, 11 Mar 2025 08:00:10 GMT' }
    expect(budgetFactsOf(429, until, hoursOff, 1)).toEqual({ pause: 10_000 })
  })

  it('pauses all requests after a 503 with Retry-After, but not after a 503 without it', () => {
    expect(budgetFactsOf(503, { 'retry-after': '9' }, 0, 1)).toEqual({ pause: 9_000 })
    expect(budgetFactsOf(503, {}, 0, 1)).toEqual({})
    expect(budgetFactsOf(200, { 'retry-after': '9' }, 0, 1)).toEqual({})
  })

  it.each(['-5', '1e9', 'soon', 'Tue, 11 Mar 2025 08:00:00 GMT'])(
    'pauses all requests until the reset time after a 429 with an invalid Retry-After: %j',
    value => {
      expect(budgetFactsOf(429, { 'retry-after': value }, Date.UTC(2026, 1), 250)).toEqual({ pause: 250 })
      expect(budgetFactsOf(503, { 'retry-after': value }, Date.UTC(2026, 1), 250)).toEqual({})
    },
  )

  it("interprets announced times by the local clock if the platform's date is invalid", () => {
    const headers = { date: '-5', 'retry-after': 'Tue, 11 Mar 2025 08:00:10 GMT' }
    expect(budgetFactsOf(429, headers, Date.UTC(2025, 2, 11, 8), 1)).toEqual({ pause: 10_000 })
  })

  it.each(['', 'soon', '-1', '1e9', '9'.repeat(40)])('ignores invalid rate-limit headers: %j', value => {
    expect(budgetFactsOf(200, { 'ratelimit-remaining': value, 'ratelimit-reset': value }, 0, 1)).toEqual({})
  })
})

describe('an API budget that was stored while the clock was far ahead', () => {
  it('delays requests by at most the maximum pause, even if the stored budget contains a later time', () => {
    const rules = { perMinute: 60 }
    const now = Date.UTC(2026, 1)
    const ahead = now + 365 * 24 * 3_600_000
    const announced = { remaining: 0, until: ahead + 60_000 }
    const before = { tokens: 10, at: ahead, pausedUntil: ahead + 60_000, announced }
    expect(grant(rules, before, now, 'enrich')).toMatchObject({ waitMs: 0, state: { at: now } })
    expect(observe(before, { pause: 5_000 }, now)).toMatchObject({ pausedUntil: now + 5_000 })
    expect(observe(before, { remaining: 9, resetIn: 1_000 }, now)).toMatchObject({ announced: { remaining: 9 } })
  })
})

describe("the client's API budget", () => {
  it('counts every request in the API budget, including retries and redirects', async () => {
    await using platform = await startPlatform(
      inTurn(answer(500, ''), answer(301, '', { location: '/api/v4/projects/9' }), json(project)),
    )
    const clock = leapingClock()
    const budget = createInMemoryBudget({ perMinute: 300 }, clock)
    const counted: string[] = []
    await using test = clientOf(platform.url, {
      clock,
      budget: { ...budget, take: async who => void counted.push(who) },
    })
    let sent = 0
    await test.client.project('a', { priority: 'backfill', onSend: () => sent++ })
    expect(counted).toEqual(['backfill', 'backfill', 'backfill'])
    expect(sent).toBe(3)
    expect(platform.asked).toHaveLength(3)
  })

  it('does not let a waiting backfill delay enrichment', async () => {
    await using platform = await startPlatform(json(project))
    const clock = leapingClock()
    const free = createInMemoryBudget({ perMinute: 300 }, clock)
    const closing = new AbortController()
    const never = (signal?: AbortSignal) =>
      new Promise<void>((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('stopped'))))
    await using test = clientOf(platform.url, {
      clock,
      concurrency: 2,
      budget: { ...free, take: (who, signal) => (who === 'backfill' ? never(signal) : free.take(who)) },
    })
    const stuck = Array.from({ length: 10 }, () =>
      rejection(test.client.project(1, { priority: 'backfill', signal: closing.signal })),
    )
    await expect(test.client.project(2, { priority: 'enrich' })).resolves.toMatchObject({ id: 4711 })
    closing.abort(new Error('stopped'))
    await Promise.all(stuck)
  })

  it('limits the concurrent requests of each priority', async () => {
    let open = 0
    let maxOpen = 0
    const { promise: three, resolve: areThree } = Promise.withResolvers<undefined>()
    await using platform = await startPlatform((asked, response) => {
      maxOpen = Math.max(maxOpen, ++open)
      if (open === 3) areThree(undefined)
      // No response is sent before three requests have arrived.
      void three.then(() =>
        setTimeout(() => {
          open--
          json(project)(asked, response)
        }, 5),
      )
    })
    await using test = clientOf(platform.url, { concurrency: 3 })
    await Promise.all(Array.from({ length: 12 }, () => test.client.project(1, poll)))
    expect(maxOpen).toBe(3)
  })
})
