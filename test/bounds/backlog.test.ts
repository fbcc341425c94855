// Tests that a long backlog is exported without delaying new pipelines, with the shipped daemon on SQLite. The test takes long, so it runs only with
// PIPESPAN_TEST_FULL=1. PIPESPAN_TEST_BACKLOG sets the number of pipelines; the default is 500,000.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { mergeObservations } from '../../src/core/take-in/merge-observations.ts'
import { snapshotterWith, settlerOf } from '../flow/world.ts'
import { Daemon } from '../e2e/daemon.ts'
import { encodeTraces } from '../../src/core/telemetry/encode.ts'
import { isFull, report } from '../e2e/load.ts'
import { messagesBy } from '../../src/core/send/messages.ts'
import { openSqlite } from '../support/stores.ts'
import { OtlpReceiver } from '../support/otlp-receiver.ts'
import { parseDelivery } from '../../src/platform/webhook/parse-delivery.ts'
import { pipelineEvent } from './pipelines.ts'
import { profiles } from '../../src/daemon/profile.ts'
import { telemetrySettings } from '../../src/core/telemetry/settings.ts'

const backlog = Number(process.env.PIPESPAN_TEST_BACKLOG ?? 500_000)
const jobsOf = (id: number): number => 1 + (id % 3)
/** The load of new pipelines: the interval between them, and for how long they are sent before and after the backlog is exported (all in ms). */
const fresh = { every: 100, before: 15_000, after: 15_000, firstId: 100_000_000 }
/** 99 of 100 new pipelines must reach the backend within this time after their webhook, ms. It includes the settle delay of 0.2 s. */
const bound = 3_000
const settings = telemetrySettings({ profiles })
const wide = {
  ...{ maxSize: 2 ** 40, now: () => Date.now() },
  encode: messagesBy(({ signal }) => (signal === 'traces' ? chunk => encodeTraces([chunk], settings) : undefined)),
}

/** Creates the backlog by merging observations and taking snapshots as the daemon does, but without HTTP. */
async function buildBacklog(file: string): Promise<void> {
  const store = openSqlite(file, wide)
  const day = 86_400_000
  const rules = { settle: 1, blockedAfter: day, staleAfter: day }
  const settler = settlerOf(store, {
    snapshotter: snapshotterWith({ rules: { ...rules, deadline: day, chunkSize: 500 } }),
  })
  const options = { profile: profiles.generic, traceparent: false }
  for (let first = 1; first <= backlog; first += 256) {
    const ids = Array.from({ length: Math.min(256, backlog - first + 1) }, (_, index) => first + index)
    const observations = ids.flatMap(id => {
      const body = Buffer.from(pipelineEvent({ id, jobs: jobsOf(id) }))
      const parsed = parseDelivery({ event: 'Pipeline Hook', body }, options)
      return parsed.outcome === 'observation' ? [parsed.observation] : []
    })
    await store.runs.transact(mergeObservations(observations, 'webhook', rules))
    await settler.drain()
  }
  await sleep(10)
  await settler.drain()
  expect((await store.outbox.queues())[0]?.pending).toBe(backlog)
  await store.close()
}

/** Counts the backlog pipelines that have arrived, and records when each new pipeline arrived. */
function arrivals(receiver: OtlpReceiver) {
  const old = new Uint8Array(backlog + 1)
  const found = { old: 0, oldest: Infinity, newest: 0, twice: 0, freshAt: new Map<number, number>() }
  receiver.on('received', ({ spans }) => {
    const at = performance.now()
    for (const { attributes } of spans) {
      const id = Number(attributes['cicd.pipeline.run.id'] ?? attributes['pipeline.id'])
      const isPipeline = attributes['cicd.pipeline.task.run.id'] === undefined
      if (!isPipeline) continue
      if (id > backlog) {
        if (found.freshAt.has(id)) found.twice += 1
        found.freshAt.set(id, at)
        continue
      }
      if (old[id] === 1) found.twice += 1
      old[id] = 1
      found.old += 1
      if (found.old > 1_000) continue
      found.oldest = Math.min(found.oldest, id)
      found.newest = Math.max(found.newest, id)
    }
  })
  return found
}

function share(latencies: readonly number[], part: number): number {
  return Math.round(latencies.toSorted((a, b) => a - b)[Math.floor(latencies.length * part)] ?? 0)
}

it.skipIf(!isFull)('exports a long backlog from both ends without delaying new pipelines', async () => {
  const receiver = closeAfterTest(await OtlpReceiver.start({ keep: false }))
  const found = arrivals(receiver)
  const daemon = await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, PIPESPAN_STORE_MAX_SIZE: '1TiB' })
  const postedAt = new Map<number, number>()
  let next = fresh.firstId
  let peak = 0
  /** Posts pipelines at a steady rate while `keepsOn` returns true. Returns the latency of each pipeline once all have arrived. */
  async function postSteadily(keepsOn: () => boolean): Promise<number[]> {
    const own: number[] = []
    let due = performance.now()
    while (keepsOn()) {
      const id = next++
      own.push(id)
      postedAt.set(id, performance.now())
      const { status } = await daemon.post(pipelineEvent({ id }))
      expect(status).toBe(202)
      peak = Math.max(peak, daemon.memory().now)
      due += fresh.every
      await sleep(Math.max(0, due - performance.now()))
    }
    await expect.poll(() => own.every(id => found.freshAt.has(id))).toBe(true)
    return own.map(id => (found.freshAt.get(id) ?? Infinity) - (postedAt.get(id) ?? 0))
  }
  const forMs = (ms: number): (() => boolean) => {
    const end = performance.now() + ms
    return () => performance.now() < end
  }

  const before = await postSteadily(forMs(fresh.before))
  const memoryBefore = daemon.memory().now
  await daemon.stop()
  const built = performance.now()
  await buildBacklog(daemon.storeFile)
  const began = performance.now()
  await daemon.restart()
  peak = 0
  const during = await postSteadily(() => found.old < backlog)
  const drained = performance.now()
  const after = await postSteadily(forMs(fresh.after))
  const memoryAfter = daemon.memory().now
  expect(await daemon.stop()).toEqual({ code: 0, signal: null })

  const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20)
  report({
    backlog,
    buildSeconds: Math.round((began - built) / 1000),
    drainSeconds: Math.round((drained - began) / 1000),
    drainedPerSecond: Math.round((1000 * backlog) / (drained - began)),
    freshBeforeP50: share(before, 0.5),
    freshBeforeP99: share(before, 0.99),
    freshDuring: during.length,
    freshDuringP50: share(during, 0.5),
    freshDuringP99: share(during, 0.99),
    freshAfterP50: share(after, 0.5),
    freshAfterP99: share(after, 0.99),
    memoryBeforeMiB: mebibytes(memoryBefore),
    memoryPeakMiB: mebibytes(peak),
    memoryAfterMiB: mebibytes(memoryAfter),
  })
  expect(found.old).toBe(backlog)
  expect(found.twice).toBe(0)
  const jobs = Array.from({ length: backlog }, (_, index) => jobsOf(index + 1)).reduce((sum, count) => sum + count, 0)
  expect(receiver.counts.spans).toBe(backlog + jobs + 3 * (next - fresh.firstId))
  expect(found.oldest).toBeLessThan(backlog * 0.1)
  expect(found.newest).toBeGreaterThan(backlog * 0.9)
  for (const latencies of [before, during, after]) expect(share(latencies, 0.99)).toBeLessThan(bound)
})
