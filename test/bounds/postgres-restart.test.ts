// Tests that PostgreSQL can be stopped and restarted under load with two replicas, both by a crash and by an administrator. Nothing is lost or
// quarantined, and data is exported twice only if the daemon cannot know the outcome of the first send. PostgreSQL is stopped twice, or twenty times
// in the long form (PIPESPAN_TEST_FULL=1).
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent, postUntilTaken } from './pipelines.ts'
import { Random } from '../../src/simulator/platform/random.ts'
import { startPostgres, type PostgresServer } from '../core/store/postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

const seed = isFull ? Date.now() % 1_000_000 : 4
const stops = isFull ? 20 : 2
/** Number of pipelines that are posted shortly before and during each stop of PostgreSQL. */
const around = isFull ? 300 : 40

/** The number of exports that a replica counted as sent again because the first outcome is unknown. Each of these exports may arrive twice. */
async function repeatedBy(daemon: Daemon): Promise<number> {
  const page = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
  return Number(/^pipespan_export_items_total{.*outcome="repeated"} (\d+)/m.exec(page)?.[1] ?? 0)
}

describe('PostgreSQL stopped under load', () => {
  it(
    'loses nothing, quarantines no delivery and exports nothing twice if PostgreSQL is stopped under load',
    { timeout: isFull ? 1_200_000 : 900_000 },
    async () => {
      const random = new Random(seed)
      const receiver = closeAfterTest(await OtlpReceiver.start({ keep: true }))
      const storeUrl = await server.newDatabase()
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
        PIPESPAN_STORE_URL: storeUrl,
      }
      const daemons = await Promise.all([Daemon.start(env), Daemon.start(env)])
      const pids = daemons.map(({ process }) => process.child.pid)
      const bodies = Array.from({ length: (stops + 1) * around }, (_, at) => pipelineEvent({ id: at + 1 }))
      let refused = 0
      const post = async (from: number, to: number): Promise<void> =>
        postUntilTaken(
          { post: async (body, headers) => random.pick(daemons).post(body, headers) },
          bodies.slice(from, to),
          8,
          status => {
            if (status >= 500) refused += 1
          },
        )
      const postings = [post(0, around)]
      let before = 0
      for (let stop = 1; stop <= stops; stop += 1) {
        const from = around * stop
        await receiver.until(spans => spans.length > before + 30)
        // Some pipelines are being posted when PostgreSQL stops, and some are posted while it is stopped.
        postings.push(post(from, from + around / 2))
        await sleep(random.between(0, isFull ? 300 : 30))
        await server.stop(stop % 2 === 0 ? 'fast' : 'immediate')
        const refusedBefore = refused
        postings.push(post(from + around / 2, from + around))
        await expect.poll(() => refused).toBeGreaterThan(refusedBefore + 5)
        // PostgreSQL is stopped again after more than 30 further spans have arrived. That many do arrive, because the rejected pipelines are posted
        // again.
        before = receiver.spans.length
        await server.start()
      }
      await Promise.all(postings)
      const unique = (): number => new Set(receiver.spans.map(({ spanId }) => spanId)).size
      await receiver.until(() => unique() === bodies.length * 3)
      expect(daemons.map(({ process }) => process.child.pid)).toEqual(pids)
      for (const { process, output } of daemons) {
        expect(process.child.exitCode).toBeNull()
        expect(output).not.toMatch(/"level":60|only-for-this-test|a delivery is quarantined/)
      }
      expect((await daemons[0].command('inbox', 'list')).stdout).toMatch(/^0 could not be decoded/)
      const twice = receiver.spans.length - unique()
      let unknown = 0
      // A repeated send is counted shortly after its spans have arrived.
      const counted = async (): Promise<number> =>
        (unknown = (await Promise.all(daemons.map(repeatedBy))).reduce((sum, one) => sum + one, 0))
      await expect.poll(counted).toBeGreaterThanOrEqual(twice / 3)
      report({ seed, stops, pipelines: bodies.length, refused, twice, unknown })
    },
  )
})
