// Tests how much memory the shipped daemon uses during a burst of deliveries, and for bodies up to the maximum size. The long form
// (PIPESPAN_TEST_FULL=1) also compares a small store with one that has a hundred times as many runs: idle, after page requests, and under the same
// load.
import { hash } from 'node:crypto'
import { request } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { Daemon, webhookToken } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent, postUntilTaken } from './pipelines.ts'

const [few, many] = [10_000, 1_000_000]
const load = 2_000

/** Copies the only run in a store under other IDs, as if the copies had just been delivered. */
function multiply(file: string, runs: number): void {
  const database = new DatabaseSync(file)
  database.exec(`
    PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;
    BEGIN;
    CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${runs}) SELECT i FROM c;
    CREATE TEMP TABLE r AS SELECT * FROM runs LIMIT 1;
    CREATE TEMP TABLE l AS SELECT * FROM listed_runs LIMIT 1;
  `)
  const copy = (table: string, from: string, change: Readonly<Record<string, string>>): void => {
    const columns = database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name))
    const values = columns.map(name => change[name] ?? `t.${name}`)
    database.exec(`INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM n, ${from} t`)
  }
  copy('runs', 'r', { id: 'n.i + 1000', pipeline_id: 'n.i + 1000000' })
  copy('listed_runs', 'l', {
    ...{ run_id: 'n.i + 1000', pipeline_id: 'n.i + 1000000', created_at: 't.created_at - n.i * 2000' },
    ...{ finished_at: 't.finished_at - n.i * 2000', text: `t.text || n.i` },
  })
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

/** The resident memory at several points in time, MiB. */
interface Resident {
  readonly idle: number
  readonly afterPages: number
  readonly afterLoad: number
}

const pages = [
  '/',
  '/pipelines',
  '/pipelines?status=failed',
  '/pipelines?text=nothing+like+this',
  '/trends?span=30d',
  '/exports',
]

/**
 * Measures a daemon with this number of stored runs. If `max` is given, waits until the memory falls below it, because garbage is collected with a
 * delay.
 */
async function memoryWith(runs: number, max?: Resident): Promise<Resident> {
  const receiver = closeAfterTest(await OtlpReceiver.start({ keep: false }))
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  await postUntilTaken(daemon, [pipelineEvent({ id: 1 })], 1)
  await receiver.until(() => receiver.counts.spans === 3)
  await daemon.stop()
  multiply(daemon.storeFile, runs)
  await daemon.restart()
  const current = (): number => Math.round(daemon.memory().now / 2 ** 20)
  const resident = async (at: keyof Resident): Promise<number> => {
    await sleep(5_000)
    if (max !== undefined) await expect.poll(current, { timeout: 60_000 }).toBeLessThan(max[at])
    return current()
  }
  const idle = await resident('idle')
  for (const page of pages) expect((await fetch(daemon.adminUrl + page)).status).toBe(200)
  const afterPages = await resident('afterPages')
  const bodies = Array.from({ length: load }, (_, index) => pipelineEvent({ id: index + 2, jobs: 10 }))
  await postUntilTaken(daemon, bodies, 8)
  await receiver.until(() => receiver.counts.spans === 3 + load * 11)
  const afterLoad = await resident('afterLoad')
  await daemon.stop()
  return { idle, afterPages, afterLoad }
}

it.skipIf(!isFull)('needs no more memory for many stored runs than for few', { timeout: 900_000 }, async () => {
  const small = await memoryWith(few)
  report({ runs: few, ...small })
  const more = (mib: number): number => mib * 1.15
  const { idle, afterPages, afterLoad } = small
  const max = { idle: more(idle), afterPages: more(afterPages), afterLoad: more(afterLoad) }
  report({ runs: many, ...(await memoryWith(many, max)) })
})

const burst = isFull ? 1_500 : 1_000
const burstJobs = isFull ? 40 : 5

/**
 * Maximum resident memory during a burst according to docs/sizing.md, MiB. The long form sends more bodies than the short form, and each has eight
 * times as many jobs.
 */
const most = isFull ? 400 : 290

it('stays within the documented memory during a burst over a thousand connections', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start({ keep: false }))
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  // The garbage from startup is collected 1.5 s after the daemon starts.
  await expect.poll(() => daemon.memory().now / 2 ** 20).toBeLessThan(140)
  const idle = daemon.memory().now / 2 ** 20
  const bodies = Array.from({ length: burst }, (_, index) => pipelineEvent({ id: index + 1, jobs: burstJobs }))
  await postUntilTaken(daemon, bodies, 1_000)
  await receiver.until(() => receiver.counts.spans >= burst * (burstJobs + 1))
  const peak = daemon.memory().peak / 2 ** 20
  report({ idleMiB: Math.round(idle), peakMiB: Math.round(peak), connections: 1_000, deliveries: burst })
  expect(peak).toBeLessThan(most)
})

/**
 * The size of a large body in bytes, the number of bodies sent concurrently, and the number of rounds. Together, the concurrent bodies exceed the
 * budget of 64 MiB for bodies that are being received.
 */
const large = isFull
  ? { bytes: 25_000_000, concurrency: 6, rounds: 6 }
  : { bytes: 4_000_000, concurrency: 18, rounds: 1 }
const budget = 64 * 2 ** 20

/** Maximum resident memory with large bodies according to docs/sizing.md, MiB. The short form sends smaller bodies. */
const maxLarge = isFull ? 500 : 400

/** Sends all of a delivery except its last byte. */
function hold(daemon: Daemon, body: string): { readonly answer: Promise<number>; readonly finish: () => void } {
  const headers = {
    ...{ 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), connection: 'close' },
    ...{ 'x-service-event': 'Pipeline Hook', 'x-service-token': webhookToken, 'idempotency-key': hash('sha256', body) },
  }
  const sent = request(daemon.webhooks, { method: 'POST', headers })
  const answer = new Promise<number>((resolve, reject) => {
    sent.once('response', response => resolve(response.resume().statusCode ?? 0)).on('error', reject)
  })
  // If a delivery is rejected while it is still being sent, its connection is closed after the response.
  answer.catch(() => undefined)
  sent.write(body.slice(0, -1))
  return { answer, finish: () => sent.end(body.at(-1)) }
}

/** The number of deliveries that were rejected because too many bodies were being received. */
async function refusedBodies(daemon: Daemon): Promise<number> {
  const page = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
  return Number(/^pipespan_webhook_deliveries_total\{[^}]*reason="budget"[^}]*\} (\d+)$/m.exec(page)?.[1] ?? 0)
}

it('stays within the documented memory while bodies of up to 25 MB fill the budget, and eventually accepts all of them', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start({ keep: false }))
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  const padding = 'x'.repeat(large.bytes)
  const fit = Math.floor(budget / large.bytes)
  const answers = { taken: 0, refused: 0 }
  for (let round = 0; round < large.rounds; round += 1) {
    const bodies = Array.from({ length: large.concurrency }, (_, index) =>
      pipelineEvent({ id: round * large.concurrency + index + 1 }).replace('{', `{"padding":"${padding}",`),
    )
    const held = bodies.map(body => ({ body, ...hold(daemon, body) }))
    // Bodies that exceed the budget are rejected as they arrive; the response is sent once they have arrived completely.
    const before = answers.refused
    await expect.poll(async () => refusedBodies(daemon)).toBeGreaterThanOrEqual(before + large.concurrency - fit)
    for (const { finish } of held) finish()
    const statuses = await Promise.all(held.map(async ({ answer }) => answer.catch(() => 503)))
    answers.taken += statuses.filter(status => status === 202).length
    answers.refused += statuses.filter(status => status === 503).length
    await postUntilTaken(
      daemon,
      bodies.filter((_, index) => statuses[index] !== 202),
      1,
    )
  }
  await receiver.until(() => receiver.counts.spans >= large.rounds * large.concurrency * 3)
  const peakMiB = Math.round(daemon.memory().peak / 2 ** 20)
  report({ ...large, ...answers, peakMiB })
  expect(answers.refused).toBeGreaterThan(0)
  expect(peakMiB).toBeLessThan(maxLarge)
})
