// Tests the health checks: what they query from the store, how often, and what they report.
import { pino } from 'pino'
import { request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { StoreError } from '../../../src/lib/fault.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { openSqlite } from '../../support/stores.ts'
import { createHealth, type HealthOptions } from '../../../src/daemon/listeners/health.ts'
import { createListener } from '../../../src/daemon/listeners/listener.ts'

async function run(options: Partial<HealthOptions>): Promise<(path: string) => Promise<readonly [number, unknown]>> {
  const store = openSqlite(':memory:', { now: Date.now, maxSize: 2 ** 30 })
  const log = silentLog()
  const health = createHealth({
    proveWritable: () => store.proveWritable(),
    stopping: () => false,
    now: Date.now,
    log,
    ...options,
  })
  const listener = createListener({ name: 'test', host: '127.0.0.1', port: 0, trustProxy: false, health, log })
  const { url } = await listener.start()
  onTestFinished(async () => {
    await listener.stop(0)
    await store.close()
  })
  return async path => {
    const answer = await request(url + path)
    expect(answer.headers['cache-control']).toBe('no-store')
    return [answer.statusCode, await answer.body.json()]
  }
}

test('reports that the daemon is alive and ready while the store accepts writes', async () => {
  const ask = await run({})
  expect(await ask('/healthz')).toEqual([200, { message: 'Alive.' }])
  expect(await ask('/readyz')).toEqual([200, { message: 'Ready.' }])
})

test('checks the store at most every 5 s, and only once for simultaneous requests', async () => {
  let now = 1_000_000
  let asked = 0
  const ask = await run({ now: () => now, proveWritable: async () => void (asked += 1) })
  await Promise.all(Array.from({ length: 20 }, () => ask('/readyz')))
  now += 4_999
  await ask('/readyz')
  expect(asked).toBe(1)
  now += 1
  await ask('/readyz')
  expect(asked).toBe(2)
  await ask('/healthz')
  expect(asked).toBe(2)
})

test('reports that the daemon is alive but not ready while the store cannot be written, logs the error, and can recover', async () => {
  let now = 1_000_000
  let broken = true
  const lines: string[] = []
  const ask = await run({
    now: () => now,
    log: pino({ level: 'warn' }, { write: line => lines.push(line) }),
    proveWritable: async () => {
      if (broken) throw new StoreError('The disk /var/db is full.', 'Free some space.')
    },
  })
  expect(await ask('/readyz')).toEqual([503, { message: 'The store does not accept writes.' }])
  expect(await ask('/healthz')).toEqual([200, { message: 'Alive.' }])
  expect(lines.join()).toContain('/var/db')
  broken = false
  // A daemon that is not ready is soon checked again, so that it is back in use within seconds of recovering.
  now += 1_000
  expect(await ask('/readyz')).toEqual([200, { message: 'Ready.' }])
})

test('reports that the daemon is alive but not ready as soon as it begins to stop', async () => {
  let stopping = false
  const ask = await run({ stopping: () => stopping })
  expect((await ask('/readyz'))[0]).toBe(200)
  stopping = true
  expect(await ask('/readyz')).toEqual([503, { message: 'The daemon is stopping.' }])
  expect((await ask('/healthz'))[0]).toBe(200)
})
