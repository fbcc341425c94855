// Tests which pending exports are held when the endpoint of their destination changes, and what is shown of the former endpoint.
import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { endpoint, openBench, type Bench } from './bench.ts'
import { heldBacklogs, holdForeignBacklogs } from '../../../src/core/send/held-backlog.ts'
import type { ExportQueue } from '../../../src/core/store/ports/outbox.ts'

let bench: Bench
/** All log lines. */
let logged: string
beforeEach(() => {
  bench = closeAfterTest(openBench())
  logged = ''
})

/** Starts with one destination, which sends one signal to this endpoint. */
async function startWith({ destination: name, signal }: ExportQueue, url: string, isSecret = false): Promise<void> {
  const { outbox, repositories } = bench.store
  const log = pino({}, { write: line => (logged += line) })
  const signals = { [signal]: endpoint(url, { isSecret }) }
  await holdForeignBacklogs({ destinations: [{ name, signals }], outbox, endpoints: repositories.exportEndpoints, log })
}

const held = async () => heldBacklogs(bench.store.outbox, bench.store.repositories.exportEndpoints)

describe('pending exports of telemetry', () => {
  const queue = { destination: 'default', signal: 'traces' } as const

  it('are held if the endpoint changes; the log names both endpoints without their query strings', async () => {
    await startWith(queue, 'https://one.example.com/v1/traces?token=abc')
    await bench.enqueue([1, 2])
    await startWith(queue, 'https://two.example.com/v1/traces?token=def')
    const before = 'https://one.example.com/v1/traces'
    expect(await held()).toMatchObject([{ name: 'default', signal: 'traces', pending: 2, before }])
    expect(JSON.parse(logged)).toMatchObject({ exports: 2, before, now: 'https://two.example.com/v1/traces' })
    expect(logged).not.toContain('token')
  })

  it('are pending again if the former endpoint is configured again', async () => {
    await startWith(queue, 'https://one.example.com')
    await bench.enqueue([1, 2])
    await startWith(queue, 'https://two.example.com')
    await startWith(queue, 'https://one.example.com')
    expect(await held()).toEqual([])
    expect(await bench.store.outbox.queues()).toMatchObject([{ ...queue, pending: 2 }])
  })
})

describe('pending notifications for an endpoint whose URL is a secret', () => {
  const queue = { destination: 'chat', signal: 'notifications' } as const

  it('are held if the receiver changes, and no part of its URL is shown, logged or stored', async () => {
    await startWith(queue, 'https://one.example.com/hooks/a1b2c3', true)
    await bench.enqueue([1], [queue])
    await startWith(queue, 'https://two.example.com/hooks/d4e5f6', true)
    const found = await held()
    expect(found).toMatchObject([{ name: 'chat', pending: 1, before: undefined }])
    const stored = await bench.store.repositories.exportEndpoints.all()
    expect(stored).toHaveLength(1)
    expect(logged).toContain('are held')
    expect(logged + JSON.stringify([found, stored])).not.toMatch(/example\.com|hooks|a1b2c3|d4e5f6/)
  })

  it('stay pending if only the secret part of the URL changes', async () => {
    await startWith(queue, 'https://one.example.com/hooks/a1b2c3', true)
    await bench.enqueue([1], [queue])
    await startWith(queue, 'https://one.example.com/hooks/d4e5f6', true)
    expect(await held()).toEqual([])
    expect(await bench.store.outbox.queues()).toMatchObject([{ ...queue, pending: 1 }])
  })
})
