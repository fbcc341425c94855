// PostgreSQL taken away and given back under load, on the shipped daemon: everything recovers by itself.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { Daemon } from '../e2e/daemon.ts'
import { OtlpReceiver } from '../../src/demo/otlp-receiver.ts'
import { pipelineEvent } from './pipelines.ts'
import { postUntilTaken } from './posting.ts'
import { startPostgres, type PostgresServer } from '../store/postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

describe('PostgreSQL restarted under load', () => {
  it('loses nothing, the second time as the first', { timeout: 90_000 }, async () => {
    const receiver = await OtlpReceiver.start()
    onTestFinished(async () => receiver.close())
    const daemon = await Daemon.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      PIPESPAN_STORE_URL: await server.newDatabase(),
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    })
    const pid = daemon.process.child.pid
    const ids = Array.from({ length: 300 }, (_, index) => index + 1)
    const bodies = ids.map(id => pipelineEvent({ id }))
    let refused = 0
    const post = async (from: number, to: number): Promise<unknown> =>
      postUntilTaken(daemon, bodies.slice(from, to), 8, status => {
        if (status >= 500) refused += 1
      })
    const postings = [post(0, 100)]
    for (const [restarts, how] of (['immediate', 'fast'] as const).entries()) {
      const before = receiver.spans.length
      await receiver.until(spans => spans.length > before + 30, 20_000)
      // Some are under way when it stops, and some come while it is away.
      postings.push(post(100 * (restarts + 1), 100 * (restarts + 1) + 50))
      await server.stop(how)
      postings.push(post(100 * (restarts + 1) + 50, 100 * (restarts + 2)))
      await expect.poll(() => refused, { timeout: 10_000 }).toBeGreaterThan(restarts * 5)
      await server.start()
    }
    await Promise.all(postings)
    const unique = (): number => new Set(receiver.spans.map(({ spanId }) => spanId)).size
    await receiver.until(() => unique() === ids.length * 3, 45_000)
    expect(daemon.process.child.pid).toBe(pid)
    expect(daemon.process.child.exitCode).toBeNull()
    expect(daemon.output).not.toMatch(/"level":60|only-for-this-test/)
  })
})
