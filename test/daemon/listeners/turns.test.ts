// Work in turns beside a real listener: what goes first, how much runs and waits, and who is refused.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createBusyLimit, elsewhere, type BusyLimits } from '../../../src/lib/busy-limit.ts'
import { createHealth } from '../../../src/daemon/listeners/health.ts'
import { createListener } from '../../../src/daemon/listeners/listener.ts'
import { createTurns, inTurns } from '../../../src/lib/turns.ts'
import { silentLog } from '../../../src/lib/log.ts'

const log = silentLog()

/** A listener whose route `/work` holds the thread; `done`: how often it has been done. */
async function busyListener(limits: BusyLimits): Promise<{ url: string; done: () => number }> {
  const turns = createTurns()
  const limit = createBusyLimit(turns, limits)
  const proveWritable = async (): Promise<void> => Promise.resolve()
  const health = createHealth({ proveWritable, stopping: () => false, now: () => performance.now(), log })
  const listener = createListener({ name: 'admin', host: '127.0.0.1', port: 0, trustProxy: false, health, log, turns })
  let done = 0
  listener.register(async app => {
    app.get('/work', async (request, reply) => {
      const { who = '' } = request.query as { who?: string }
      const answer = await limit.run(who, reply.raw, async () => {
        hold(10)
        done += 1
      })
      return reply.code(answer === 'refused' ? 429 : 200).send({})
    })
    await Promise.resolve()
  })
  const { url } = await listener.start()
  closeAfterTest({ close: async () => listener.stop(0) })
  return { url, done: () => done }
}

/** As a statement of SQLite does. */
function hold(ms: number): void {
  const began = performance.now()
  while (performance.now() - began < ms);
}

it('answers health checks before what waits, and refuses what is beyond the places', async () => {
  const { url, done } = await busyListener({ maxRunning: 2, maxWaiting: 30 })
  const asked = Array.from({ length: 200 }, async () => (await fetch(`${url}/work`)).status)
  const seen: number[] = []
  const progress = { isOver: false }
  const all = Promise.all(asked).finally(() => (progress.isOver = true))
  while (!progress.isOver) {
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    seen.push(done())
  }
  const statuses = await all
  const admitted = statuses.filter(status => status === 200).length
  expect(done()).toBe(admitted)
  expect(admitted).toBeGreaterThanOrEqual(32)
  expect(statuses.filter(status => status === 429).length).toBe(200 - admitted)
  expect(admitted).toBeLessThan(200)
  // Between two pieces of work, not after them all.
  expect(new Set(seen.filter(count => count < admitted)).size).toBeGreaterThan(5)
})

it('takes no place from others for somebody who asks for all of them', async () => {
  const { url } = await busyListener({ maxRunning: 1, maxWaiting: 8 })
  const greedy = Array.from({ length: 60 }, async () => (await fetch(`${url}/work?who=greedy`)).status)
  const others = ['amina', 'bo', 'chen'].map(async who => (await fetch(`${url}/work?who=${who}`)).status)
  expect(await Promise.all(others)).toEqual([200, 200, 200])
  expect(await Promise.all(greedy)).toContain(429)
})

it('does nothing for a client that has gone away while it waited', async () => {
  const turns = createTurns()
  const limit = createBusyLimit(turns, { maxRunning: 1, maxWaiting: 4 })
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const here = { once: () => undefined }
  const first = limit.run('a', here, async () => promise)
  const gone: (() => void)[] = []
  const second = limit.run('a', { once: (_: 'close', listener: () => void) => gone.push(listener) }, async () => 'done')
  const third = limit.run('a', here, async () => Promise.resolve('done'))
  gone[0]?.()
  expect(await second).toBe('refused')
  resolve(undefined)
  await first
  expect(await third).toBe('done')
})

it('gives the place of work that waits for another machine to others', async () => {
  const limit = createBusyLimit(createTurns(), { maxRunning: 1, maxWaiting: 4 })
  const here = { once: () => undefined }
  const { promise: answered, resolve } = Promise.withResolvers<string>()
  const first = limit.run('a', here, async () => elsewhere(async () => answered))
  const second = limit.run('a', here, async () => Promise.resolve('done meanwhile'))
  expect(await second).toBe('done meanwhile')
  resolve('an answer')
  expect(await first).toBe('an answer')
  expect(await limit.run('a', here, async () => Promise.resolve('done after'))).toBe('done after')
})

it('gives a place back when the work fails', async () => {
  const limit = createBusyLimit(createTurns(), { maxRunning: 1, maxWaiting: 1 })
  const here = { once: () => undefined }
  await expect(limit.run('a', here, async () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await limit.run('a', here, async () => Promise.resolve('done'))).toBe('done')
})

it('goes on within a turn, and gives way once the turn has taken long', async () => {
  const turns = createTurns()
  const order: string[] = []
  const source = inTurns(turns, {
    views: { read: async (name: string) => Promise.resolve(void order.push(name)) },
    count: async () => Promise.resolve(1),
  })
  const waits = (): unknown => setImmediate(() => order.push('other work'))
  await turns.next()
  waits()
  await source.views.read('first')
  await source.views.read('second')
  hold(25)
  await source.views.read('after 25 ms')
  expect(order).toEqual(['first', 'second', 'other work', 'after 25 ms'])
  expect(await source.count()).toBe(1)
})

it('begins one turn in an iteration of the event loop', async () => {
  const turns = createTurns()
  const order: string[] = []
  const taking = ['a', 'b', 'c'].map(async name => {
    await turns.next()
    order.push(name)
    setImmediate(() => order.push(`after ${name}`))
  })
  await Promise.all(taking)
  expect(order.filter(one => !one.startsWith('after'))).toEqual(['a', 'b', 'c'])
  expect(order.indexOf('after a')).toBeLessThan(order.indexOf('c'))
})

it('lets those that have arrived go before a turn, but not for ever', async () => {
  const turns = createTurns()
  let arrivals = 0
  let isOver = false
  const arrive = (): void => {
    arrivals += 1
    turns.arrived()
    if (!isOver) setImmediate(arrive)
  }
  arrive()
  await turns.next()
  isOver = true
  expect(arrivals).toBeGreaterThan(3)
})
