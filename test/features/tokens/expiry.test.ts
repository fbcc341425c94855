// Tests the conditions about ingest tokens that expire soon. The tokens are those that the observability instance lists.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { good } from '../../daemon/configuration/given.ts'
import { readList } from '../../../src/features/tokens/listed-token.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { startInstance } from '../../support/observability-instance.ts'
import { tokens } from '../../../src/features/tokens/feature.ts'
import { watchExpiry } from '../../../src/features/tokens/expiry.ts'

const minute = 60_000
const day = 24 * 60 * minute

it('reports a token as broken in the week before it expires, and as fixed if it was replaced in time', async () => {
  const begin = Date.UTC(2026, 0, 1)
  let now = begin
  let listed: object[] | undefined
  const clock = { now: () => now, sleep: async () => undefined }
  const list = async () => {
    if (listed === undefined) throw new Error('the instance does not answer')
    return readList({ tokens: listed }, now) ?? []
  }
  const look = watchExpiry(list, { clock, log: silentLog() })
  const seen = async (): Promise<Record<string, string>> => {
    now += 11 * minute
    const conditions = await look(now)
    return Object.fromEntries(conditions.map(({ subject, state }) => [subject, state]))
  }
  const expires = (id: number, at: number, more: object = {}) => ({
    ...{ id, name: `token ${id}`, expires_at: new Date(at).toISOString(), ...more },
  })
  listed = [expires(1, begin + 8 * day), expires(2, begin + 400 * day), { id: 3, name: 'endless' }]
  expect(await seen()).toEqual({ 'ingest token 1': 'fixed', 'ingest token 2': 'fixed' })
  now += 2 * day
  expect(await seen()).toEqual({ 'ingest token 1': 'broken', 'ingest token 2': 'fixed' })
  listed = undefined
  expect(await seen()).toEqual({})
  listed = [expires(1, begin + 8 * day, { revoked: true }), expires(4, begin + 400 * day)]
  expect(await seen()).toMatchObject({ 'ingest token 1': 'fixed' })
  // An expired token was not replaced in time, so it is no longer reported, but not reported as fixed either.
  const end = now + 6 * day
  listed = [expires(5, end)]
  expect(await seen()).toMatchObject({ 'ingest token 5': 'broken' })
  now += 7 * day
  listed = [expires(5, end, { status: 'expired' })]
  expect(Object.keys(await seen())).not.toContain('ingest token 5')
})

it('checks the observability instance for expiring tokens every ten minutes', async () => {
  let asked = 0
  let now = 0
  const clock = { now: () => now, sleep: async () => undefined }
  const look = watchExpiry(
    async () => {
      asked += 1
      return []
    },
    { clock, log: silentLog() },
  )
  for (now = 0; now < 21 * minute; now += minute) await look(now)
  expect(asked).toBe(3)
})

it('reports the expiring tokens of the configured observability instance, and nothing without an instance', async () => {
  const instance = closeAfterTest(await startInstance())
  const now = Date.now()
  const clock = { now: () => now, sleep: async () => undefined }
  const watch = (env: Record<string, string>) => {
    const { config } = good({ PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token', ...env })
    return tokens.standing?.(config as never, { proxies: {}, clock, log: silentLog() } as never)
  }
  const listed = [{ id: 7, name: 'ci', expires_at: new Date(now + day).toISOString() }]
  instance.misbehaveOnce('GET', '/tokens', { status: 200, body: JSON.stringify(listed) })
  const own = watch({ PIPESPAN_OBSERVABILITY_URL: instance.url, PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey })
  expect(await own?.currentConditions(now)).toMatchObject([
    { kind: 'tokens', subject: 'ingest token 7', state: 'broken' },
  ])
  expect(watch({})).toBeUndefined()
})
