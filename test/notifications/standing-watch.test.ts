// Ingest tokens that expire, as the observability instance lists them.
import { createServer } from 'node:http'
import { Agent } from 'undici'
import { expect, it } from 'vitest'
import { closeAfterTest, listen } from '../support/after-test.ts'
import { createIngestTokens } from '../../src/features/tokens/client.ts'
import { createNotifier } from '../../src/features/notifications/notifier.ts'
import { createStandingWatch } from '../../src/features/notifications/standing-watch.ts'
import { day, minute } from '../flow/world.ts'
import { isEvent } from '../../src/model/event.ts'
import { openSqlite } from '../support/stores.ts'
import { Secret } from '../../src/lib/secret.ts'
import { chunkOf, deliver } from '../support/of-run.ts'
import { silentLog } from '../../src/lib/log.ts'

it('announces once that a token expires within a week, and that it was replaced in time', async () => {
  let listed: object[] = []
  const server = createServer((_, response) => response.end(JSON.stringify({ tokens: listed })))
  const url = `http://127.0.0.1:${await listen(server)}`
  const dispatcher = closeAfterTest(new Agent())
  const begin = Date.now()
  let now = begin
  const store = closeAfterTest(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 }))
  const instance = createIngestTokens({
    ...{
      url,
      apiKey: () => new Secret('api-key-of-a-test'),
    },
    ...{ dispatcher, timeoutMs: 5_000 },
  })
  const watch = createStandingWatch({
    notifier: createNotifier([{ name: 'chat', of: ['tokens'], since: 0 }], text => text, 'generic'),
    ...{ runs: store.runs, outbox: store.outbox, conditions: store.repositories.conditions, destinations: [] },
    tokens: async () => instance.list(),
    lease: { isMine: async () => true, release: async () => undefined },
    onMessage: () => undefined,
    clock: { now: () => now, sleep: async () => undefined },
    log: silentLog(),
  })
  const titles = async (): Promise<string[]> => {
    now += 11 * minute
    await watch.look()
    const items = await deliver(store, { destination: 'chat', signal: 'notifications' })
    return items.map(chunkOf).flatMap(chunk => (isEvent(chunk) ? chunk.event.body : []))
  }
  const expires = (id: number, at: number, more: object = {}) => ({
    ...{ id, name: `token ${id}`, expires_at: new Date(at).toISOString(), ...more },
  })
  listed = [expires(1, begin + 8 * day), expires(2, begin + 400 * day), { id: 3, name: 'endless' }]
  expect(await titles()).toEqual([])
  now += 2 * day
  expect(await titles()).toEqual([`Ingest token token 1 expires at ${new Date(begin + 8 * day).toISOString()}`])
  expect(await titles()).toEqual([])
  listed = [expires(1, begin + 8 * day, { revoked: true }), expires(4, begin + 400 * day)]
  expect(await titles()).toEqual(['Ingest token token 1 was replaced'])
  // One that expires unnoticed was not replaced.
  const end = now + 6 * day
  listed = [expires(5, end)]
  expect(await titles()).toEqual([expect.stringContaining('token 5 expires')])
  now += 7 * day
  listed = [expires(5, end, { status: 'expired' })]
  expect(await titles()).toEqual([])
})
