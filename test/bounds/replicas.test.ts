// Three daemons on one PostgreSQL database: one killed, one stopped for longer than its leases and woken again. The long
// version (PIPESPAN_TEST_FULL=1) has 20,000 pipelines; the short one has no time for leases to run out and only kills.
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { OtlpReceiver } from '../../src/demo/otlp-receiver.ts'
import { pipelineEvent } from './pipelines.ts'
import { postUntilTaken } from './posting.ts'
import { startPostgres, type PostgresServer } from '../store/postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(async () => server.dispose())

const count = isFull ? 20_000 : 400
/** Longer than every lease: 15 s of deliveries and runs, 34 s of exports with a time-out of a second. */
const asleep = isFull ? 60_000 : 0

describe('three replicas', () => {
  it.skipIf(!isFull)(
    'of which one is killed and one sleeps export every pipeline once',
    { timeout: 600_000 },
    async () => {
      const receiver = await OtlpReceiver.start({ keep: true })
      onTestFinished(async () => receiver.close())
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
        PIPESPAN_STORE_URL: await server.newDatabase(),
      }
      const daemons = await Promise.all([0, 1, 2].map(async () => Daemon.start(env)))
      const [steady, killed, frozen] = daemons as [Daemon, Daemon, Daemon]
      const alive = new Set(daemons)
      let turn = 0
      const anyone = {
        // As a load balancer does: whoever does not answer within a second is left out.
        post: async (body: string, headers: Record<string, string>) => {
          const some = [...alive]
          const one = some[turn++ % some.length] ?? steady
          return Promise.race([
            one.post(body, headers),
            sleep(1_000).then(() => {
              throw new Error('no answer')
            }),
          ])
        },
      }
      const started = performance.now()
      const bodies = Array.from({ length: count }, (_, index) => pipelineEvent({ id: index + 1 }))
      const posting = postUntilTaken(anyone, bodies, 16)
      const spansOf = (part: number): number => Math.floor(count * 3 * part)
      await receiver.until(spans => spans.length > spansOf(0.2), 120_000)
      alive.delete(killed)
      await killed.kill()
      let lost = 0
      if (isFull) {
        await receiver.until(spans => spans.length > spansOf(0.4), 120_000)
        alive.delete(frozen)
        frozen.signal('SIGSTOP')
        await sleep(asleep)
        frozen.signal('SIGCONT')
        alive.add(frozen)
      }
      await posting
      const unique = (): Set<string> => new Set(receiver.spans.map(({ spanId }) => spanId))
      await receiver.until(spans => spans.length >= count * 3 && unique().size === count * 3, 300_000)
      const took = performance.now() - started
      // Whoever was woken has had its turn; nothing more comes.
      await sleep(isFull ? 10_000 : 500)
      expect(unique().size).toBe(count * 3)
      const repeated = receiver.spans.length - count * 3
      // Sends under way when a process was killed or stopped, and nothing else: four requests of a hundred pipelines each.
      expect(repeated).toBeLessThanOrEqual(2 * 400 * 3)
      lost = [...frozen.output.matchAll(/"lost":(\d+)/g)].length
      const { stdout } = await steady.command('dead-letters', 'list', '--json')
      expect(stdout).not.toMatch(/"status":/)
      if (isFull) report({ pipelines: count, repeatedSpans: repeated, lost, seconds: Math.round(took / 1000) })
    },
  )
})
