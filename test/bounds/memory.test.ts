// What memory the shipped daemon takes: in a burst, and by the size of its store, on a small one and on one of a hundred times as many
// runs, under the same load (only in the long version, PIPESPAN_TEST_FULL=1).
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { Daemon } from '../e2e/daemon.ts'
import { isFull, report } from '../e2e/load.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { pipelineEvent } from './pipelines.ts'
import { postUntilTaken } from './posting.ts'

const [few, many] = [10_000, 1_000_000]
const load = 2_000

/** Copies the one run of a store under other ids, as delivered a moment ago. */
function multiply(file: string, runs: number): void {
  const database = new DatabaseSync(file)
  database.exec(`
    PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;
    BEGIN;
    CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${runs}) SELECT i FROM c;
    CREATE TEMP TABLE r AS SELECT * FROM runs LIMIT 1;
    CREATE TEMP TABLE j AS SELECT * FROM jobs;
    CREATE TEMP TABLE p AS SELECT * FROM chunks LIMIT 1;
    CREATE TEMP TABLE e AS SELECT * FROM outbox LIMIT 1;
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
  copy('jobs', 'j', { run_id: 'n.i + 1000' })
  copy('chunks', 'p', { id: 'n.i + 1000', run_id: 'n.i + 1000', content: `'{}'` })
  copy('outbox', 'e', { id: 'n.i + 1000', chunk_id: 'n.i + 1000' })
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
}

async function memoryWith(runs: number): Promise<number> {
  const receiver = await OtlpReceiver.start({ keep: false })
  onTestFinished(async () => receiver.close())
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  await postUntilTaken(daemon, [pipelineEvent({ id: 1 })], 1)
  await receiver.until(() => receiver.counts.spans === 3)
  await daemon.stop()
  multiply(daemon.storeFile, runs)
  await daemon.restart()
  const bodies = Array.from({ length: load }, (_, index) => pipelineEvent({ id: index + 2, jobs: 10 }))
  await postUntilTaken(daemon, bodies, 8)
  await receiver.until(() => receiver.counts.spans === 3 + load * 11)
  await sleep(5_000)
  const { now } = daemon.memory()
  await daemon.stop()
  return now
}

it.skipIf(!isFull)('needs as much memory for many stored runs as for few', { timeout: 900_000 }, async () => {
  const small = await memoryWith(few)
  const large = await memoryWith(many)
  report({
    [`MiB with ${few} runs`]: Math.round(small / 2 ** 20),
    [`MiB with ${many} runs`]: Math.round(large / 2 ** 20),
  })
  expect(large / small).toBeLessThan(1.15)
})

const burst = isFull ? 1_500 : 1_000
const burstJobs = isFull ? 40 : 10

/** MiB, as docs/operating.md says; the long form has bodies four times as large, and more of them. */
const most = isFull ? 400 : 290

it('takes no more memory than it is said to in a burst over a thousand connections, and little before', async () => {
  const receiver = await OtlpReceiver.start({ keep: false })
  onTestFinished(async () => receiver.close())
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  const idle = daemon.memory().now / 2 ** 20
  const bodies = Array.from({ length: burst }, (_, index) => pipelineEvent({ id: index + 1, jobs: burstJobs }))
  await postUntilTaken(daemon, bodies, 1_000)
  await receiver.until(() => receiver.counts.spans >= burst * (burstJobs + 1))
  const peak = daemon.memory().peak / 2 ** 20
  report({ idleMiB: Math.round(idle), peakMiB: Math.round(peak), connections: 1_000, deliveries: burst })
  expect(idle).toBeLessThan(160)
  expect(peak).toBeLessThan(most)
})
