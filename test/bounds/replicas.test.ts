// Tests three daemons on one PostgreSQL database: one is killed, and one is suspended for longer than its leases and then resumed. The test waits for
// leases to expire, which takes long, so it runs only in the long form (PIPESPAN_TEST_FULL=1).
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent, postUntilTaken } from './pipelines.ts'
import { newDatabase } from '../core/store/new-database.ts'

const count = 20_000
/**
 * How long a daemon is suspended, ms. This is longer than every lease: runs are leased for 15 s, and exports for 34 s with a request timeout of one
 * second.
 */
const asleep = 60_000

async function query(url: string, sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql, [...values])).rows
  } finally {
    await client.end()
  }
}

/** Returns the IDs of the exports that are leased now and still have the same lease after `ms`. */
async function stillLeased(url: string, ms: number): Promise<string[]> {
  const leased = async (): Promise<string[]> =>
    (await query(url, `SELECT id || ' ' || lease AS held FROM outbox WHERE lease IS NOT NULL`)).map(row =>
      String(row.held),
    )
  const before = await leased()
  await sleep(ms)
  const after = await leased()
  return before.filter(one => after.includes(one)).map(one => one.split(' ', 1)[0] ?? '')
}

async function rowsOf(url: string, ids: readonly string[]): Promise<Record<string, unknown>[]> {
  return query(url, 'SELECT id, state, lease, tries, settled_at FROM outbox WHERE id = ANY ($1) ORDER BY id', [ids])
}

async function counterOf(daemon: Daemon, line: RegExp): Promise<number> {
  return Number(line.exec(await (await fetch(`${daemon.adminUrl}/metrics`)).text())?.[1])
}

/** Matches the counter of exports that got no response in time and are sent again. */
const putOff = /^pipespan_export_items_total{.*signal="traces",outcome="later"} (\d+)/m

function sum(values: readonly unknown[]): number {
  return values.reduce<number>((total, value) => total + Number(value), 0)
}

describe('three replicas', () => {
  it.skipIf(!isFull)(
    'exports every pipeline once even though one replica is killed and one is suspended',
    { timeout: 600_000 },
    async () => {
      const receiver = closeAfterTest(await OtlpReceiver.start({ keep: true }))
      const storeUrl = await newDatabase()
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
        PIPESPAN_STORE_URL: storeUrl,
      }
      const daemons = await Promise.all([0, 1, 2].map(async () => Daemon.start(env)))
      const [steady, killed, suspended] = daemons as [Daemon, Daemon, Daemon]
      const alive = new Set(daemons)
      let turn = 0
      const anyone = {
        // Like a load balancer, the test skips a daemon that does not respond within a second.
        post: async (body: string, headers: Record<string, string>) => {
          const some = [...alive]
          const one = some[turn++ % some.length] ?? steady
          return Promise.race([
            one.post(body, headers),
            sleep(1_000).then(() => {
              throw new Error('no response within a second')
            }),
          ])
        },
      }
      const started = performance.now()
      const bodies = Array.from({ length: count }, (_, index) => pipelineEvent({ id: index + 1 }))
      const posting = postUntilTaken(anyone, bodies, 16)
      const spansOf = (part: number): number => Math.floor(count * 3 * part)
      await receiver.until(spans => spans.length > spansOf(0.2))
      alive.delete(suspended)
      let held: string[]
      for (;;) {
        suspended.signal('SIGSTOP')
        // The other daemons settle their leased exports within seconds. Any lease that remains after that belongs to the suspended daemon.
        held = await stillLeased(storeUrl, 5_000)
        if (held.length > 0) break
        // The daemon had no lease when it was suspended, so the test suspends it again later.
        suspended.signal('SIGCONT')
        await sleep(100)
      }
      await receiver.until(spans => spans.length > spansOf(0.4))
      alive.delete(killed)
      const putOffByKilled = await counterOf(killed, putOff)
      await killed.kill()
      await sleep(asleep)
      const isSettled = async (): Promise<boolean> =>
        (await rowsOf(storeUrl, held)).every(({ state, lease }) => state === 'delivered' && lease === null)
      await expect.poll(isSettled, { interval: 500 }).toBe(true)
      const settledByOthers = await rowsOf(storeUrl, held)
      suspended.signal('SIGCONT')
      alive.add(suspended)
      await posting
      const unique = (): Set<string> => new Set(receiver.spans.map(({ spanId }) => spanId))
      await receiver.until(spans => spans.length >= count * 3 && unique().size === count * 3)
      const took = performance.now() - started
      // By now the resumed daemon has had time to send, so no further spans will arrive.
      await sleep(10_000)
      expect(unique().size).toBe(count * 3)
      const repeated = receiver.spans.length - count * 3
      // Exports may be repeated if they were being sent when a process was killed or suspended (four requests of a hundred pipelines each), or if
      // their response took more than a second.
      const unanswered = putOffByKilled + (await counterOf(steady, putOff)) + (await counterOf(suspended, putOff))
      expect(repeated).toBeLessThanOrEqual((2 * 400 + unanswered) * 3)
      // The resumed daemon found that it had lost every lease. It logged and counted this, and settled no export under those leases.
      const lost = sum(
        suspended.process.log.flatMap(line => (line.msg.startsWith('export results came too late') ? [line.lost] : [])),
      )
      const warnings = suspended.process.log.filter(({ level }) => level >= 40)
      expect(lost, JSON.stringify(warnings)).toBe(held.length)
      expect(await counterOf(suspended, /^pipespan_export_items_total{.*outcome="lost"} (\d+)/m)).toBe(lost)
      expect(await rowsOf(storeUrl, held)).toEqual(settledByOthers)
      expect(steady.output).not.toContain('results came too late')
      const { stdout } = await steady.command('dead-letters', 'list', '--json')
      expect(stdout).not.toMatch(/"status":/)
      report({
        pipelines: count,
        repeatedSpans: repeated,
        lostExports: lost,
        seconds: Math.round(took / 1000),
      })
    },
  )
})
