// Tests the daemon's requests to an observability instance. They return the data for the token gauges, and the enforcement state. A page does not wait
// for the enforcement state.
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { good } from '../../daemon/configuration/given.ts'
import {
  checkEnforcement,
  enforcementOf,
  ingestGauges,
  instanceOf,
} from '../../../src/features/tokens/asked-instance.ts'
import type { TokenOptions } from '../../../src/features/tokens/options.ts'
import { Secret } from '../../../src/lib/secret.ts'
import type { Destination } from '../../../src/core/send/destination.ts'
import type { Surroundings } from '../../../src/daemon/feature.ts'
import { startInstance } from '../../support/observability-instance.ts'

function optionsOf(env: Record<string, string> = {}): TokenOptions {
  return good({ PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token', ...env }).config as unknown as TokenOptions
}

async function openInstance() {
  const instance = closeAfterTest(await startInstance({ enforcement: true, times: true }))
  const key = { PIPESPAN_OBSERVABILITY_URL: instance.url, PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey }
  return { instance, options: optionsOf(key) }
}

it('exports whether an ingest token is required, the number of tokens, and when each was created', async () => {
  const { instance, options } = await openInstance()
  instance.add('ci')
  instance.add('cluster')
  const age = (name: string) => ({
    metric: 'platform.ingest.token.age',
    attributes: { 'platform.ingest.token.name': name },
    value: { since: expect.any(Number) as number },
  })
  expect(await instanceOf(options, {})?.(ingestGauges)).toEqual([
    { metric: 'platform.ingest.enforced', attributes: {}, value: 1 },
    { metric: 'platform.ingest.token.count', attributes: {}, value: 2 },
    age('ci'),
    age('cluster'),
  ])
})

it('exports 0 for the enforcement if no ingest token is required', async () => {
  const { instance, options } = await openInstance()
  instance.enforced = false
  const points = await instanceOf(options, {})?.(ingestGauges)
  expect(points).toContainEqual({ metric: 'platform.ingest.enforced', attributes: {}, value: 0 })
})

it('requests the enforcement state once a minute, shows the cached state in between, and shows it as unknown after an error', async () => {
  const { instance, options } = await openInstance()
  let now = 0
  let asked = 0
  instance.onDone = (_, path) => void (asked += path.endsWith('/state') ? 1 : 0)
  const enforcement = enforcementOf(options, {}, { now: () => now, sleep: async () => undefined })!
  expect(enforcement()).toBe('unknown')
  await expect.poll(enforcement).toBe('on')
  instance.enforced = false
  now += 59_999
  expect([enforcement(), asked]).toEqual(['on', 1])
  now += 1
  expect(enforcement()).toBe('on')
  await expect.poll(enforcement).toBe('off')
  expect(asked).toBe(2)
  instance.misbehaveOnce('GET', '/state', { status: 500 })
  now += 60_000
  await expect.poll(enforcement).toBe('unknown')
})

it.each([{}, { PIPESPAN_OBSERVABILITY_URL: 'https://observability.example.com' }])(
  'sends no request without an observability instance and its key (%j)',
  env => {
    expect(instanceOf(optionsOf(env), {})).toBeUndefined()
    expect(enforcementOf(optionsOf(env), {}, { now: () => 0, sleep: async () => undefined })).toBeUndefined()
  },
)

describe('the check of enforcement', () => {
  const destination = (name: string, url: string, authorization?: string): Destination => {
    const headers = authorization === undefined ? {} : { authorization: new Secret(authorization) }
    return { name, signals: { traces: { url, headers, timeoutMs: 1_000, compression: 'none' } } }
  }
  const check = async (options: TokenOptions, ...destinations: Destination[]): Promise<string> =>
    (await checkEnforcement(options, { destinations, proxies: {} } as unknown as Surroundings)).level

  it('accepts a token in an Authorization header', async () => {
    const { instance, options } = await openInstance()
    expect(await check(options, destination('default', instance.otlpUrl, 'Bearer an-ingest-token'))).toBe('fine')
    expect(await check(options, destination('default', instance.otlpUrl, 'Basic dXNlcjpwYXNz'))).toBe('failure')
  })

  it('requires a token only of destinations on the host of the instance, and of at least one destination', async () => {
    const { instance, options } = await openInstance()
    const here = destination('default', instance.otlpUrl, 'Bearer an-ingest-token')
    expect(await check(options, here, destination('tempo', 'http://tempo.example:4318/v1/traces'))).toBe('fine')
    expect(await check(options, here, destination('second', instance.otlpUrl))).toBe('failure')
    expect(await check(options, destination('tempo', 'http://tempo.example:4318/v1/traces'))).toBe('failure')
  })
})
