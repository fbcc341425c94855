// Tests how the daemon learns the state of enforcement from an observability instance: once a minute, and without waiting for it.
import { expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { good } from '../../daemon/configuration/given.ts'
import { startInstance, type ObservabilityInstance } from '../../support/observability-instance.ts'
import { enforcementOf } from '../../../src/features/tokens/asked-instance.ts'
import type { TokenOptions } from '../../../src/features/tokens/options.ts'
import type { Enforcement } from '../../../src/features/tokens/watched-enforcement.ts'

interface World {
  readonly instance: ObservabilityInstance
  readonly enforcement: () => Enforcement
  /** Number of requests for the state. */
  readonly asked: () => number
  readonly pass: (ms: number) => void
}

function watched(env: Record<string, string>, now: () => number): (() => Enforcement) | undefined {
  const { config } = good({ PIPESPAN_WEBHOOK_TOKEN: 'a-webhook-token', ...env })
  return enforcementOf(config as typeof config & TokenOptions, {}, { now, sleep: async () => undefined })
}

async function world(): Promise<World> {
  const instance = closeAfterTest(await startInstance({ enforcement: true }))
  let now = 0
  let asked = 0
  instance.onDone = (_, path) => {
    if (path.endsWith('/state')) asked += 1
  }
  const key = { PIPESPAN_OBSERVABILITY_URL: instance.url, PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey }
  const enforcement = watched(key, () => now)
  if (enforcement === undefined) throw new Error('nothing is watched')
  return {
    instance,
    enforcement,
    asked: () => asked,
    pass: ms => {
      now += ms
    },
  }
}

it('enforcement is unknown at first, and then as the instance reports it', async () => {
  const { enforcement, asked } = await world()
  expect(enforcement()).toBe('unknown')
  await expect.poll(enforcement).toBe('on')
  expect(asked()).toBe(1)
})

it('enforcement is requested again after a minute, and reported unchanged until then', async () => {
  const { instance, enforcement, asked, pass } = await world()
  enforcement()
  await expect.poll(enforcement).toBe('on')
  instance.enforced = false
  pass(59_999)
  expect(enforcement()).toBe('on')
  expect(asked()).toBe(1)
  pass(1)
  expect(enforcement()).toBe('on')
  await expect.poll(enforcement).toBe('off')
  expect(asked()).toBe(2)
})

it('enforcement is unknown if the instance does not answer or cannot be reached', async () => {
  const { instance, enforcement, pass } = await world()
  enforcement()
  await expect.poll(enforcement).toBe('on')
  instance.misbehaveOnce('GET', '/state', { status: 500 })
  pass(60_000)
  enforcement()
  await expect.poll(enforcement).toBe('unknown')
  pass(60_000)
  enforcement()
  await expect.poll(enforcement).toBe('on')
  await instance.close()
  pass(60_000)
  enforcement()
  await expect.poll(enforcement).toBe('unknown')
})

it('enforcement is not requested without an instance or its key', () => {
  expect(watched({}, () => 0)).toBeUndefined()
  expect(watched({ PIPESPAN_OBSERVABILITY_URL: 'https://observability.example.com' }, () => 0)).toBeUndefined()
})
