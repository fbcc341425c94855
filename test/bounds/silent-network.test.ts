// Tests that the shipped daemon survives a network to PostgreSQL that goes silent (packets are dropped, or nothing responds). Senders get a response
// in time, the daemon is not ready meanwhile and recovers by itself, and nothing is lost or sent twice. The timeouts take long, so this test runs
// only in the long form (PIPESPAN_TEST_FULL=1). `test/core/store/silence.test.ts` is the short form.
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent, postUntilTaken, type Takes } from './pipelines.ts'
import { SilentProxy, type Direction } from '../core/store/silent-proxy.ts'
import { newDatabase } from '../core/store/new-database.ts'

/** How long the platform waits for a response, ms. */
const platformTimeout = 10_000

const both: readonly Direction[] = ['to the server', 'to the client']
const cases: readonly [directions: readonly Direction[], forgetting: boolean][] = [
  [both, true],
  [both, false],
  [['to the client'], true],
  [['to the client'], false],
  [['to the server'], true],
]

describe.skipIf(!isFull)('a silent network to PostgreSQL', () => {
  it.each(cases)(
    'loses nothing when the network drops packets %j (forgets connections: %s)',
    async (directions, forgetting) => {
      const receiver = closeAfterTest(await OtlpReceiver.start({ keep: true }))
      const storeUrl = await newDatabase()
      const proxy = closeAfterTest(await SilentProxy.before(storeUrl))
      const daemon = await Daemon.start({
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        PIPESPAN_STORE_URL: proxy.through(storeUrl),
      })
      const ready = async (): Promise<number> => (await fetch(`${daemon.url}/readyz`)).status
      const bodies = Array.from({ length: 1_000 }, (_, at) => pipelineEvent({ id: at + 1 }))
      let taken = 0
      let unanswered = 0
      const refused: number[] = []
      const platform: Takes = {
        post: async (body, headers) => {
          const since = performance.now()
          const answer = await daemon.post(body, headers)
          const took = performance.now() - since
          if (took > platformTimeout) unanswered += 1
          if (answer.status === 503) refused.push(took)
          else taken += 1
          return answer
        },
      }
      const posting = postUntilTaken(platform, bodies, 16)
      // By now deliveries, transactions and exports are all in progress.
      await expect.poll(() => taken, { interval: 1 }).toBeGreaterThan(30)
      const silentSince = performance.now()
      proxy.silence(...directions)
      await expect.poll(() => refused.length).toBeGreaterThan(8)
      await expect.poll(ready).toBe(503)
      const notReady = performance.now() - silentSince
      proxy.resume({ forgetting })
      const resumed = performance.now()
      await expect.poll(ready, { interval: 100 }).toBe(200)
      const readyAgain = performance.now() - resumed
      await posting
      const unique = (): number => new Set(receiver.spans.map(({ spanId }) => spanId)).size
      await receiver.until(() => unique() === bodies.length * 3)
      const all = performance.now() - resumed
      expect(unanswered).toBe(0)
      expect(receiver.spans.length).toBe(bodies.length * 3)
      expect((await daemon.command('inbox', 'list')).stdout).toMatch(/^0 could not be decoded/)
      expect(daemon.output).not.toMatch(/"level":60|only-for-this-test/)
      expect(daemon.output).toContain('not ready')
      const seconds = (ms: number): number => Math.round(ms / 100) / 10
      report({
        ...{ silent: directions.join(' and '), forgetting, refused: refused.length },
        slowest503: seconds(Math.max(...refused)),
        notReadyAfter: seconds(notReady),
        readyAgainAfter: seconds(readyAgain),
        allExportedAfter: seconds(all),
      })
    },
  )
})
