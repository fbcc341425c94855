// Tests a long backend outage, a slow backend, and a flood of webhooks on the shipped daemon. The amount of accepted data is bounded and reported,
// all accepted data arrives, and neither receiving nor exporting blocks the other.
import { EventEmitter, once } from 'node:events'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { closeAfterTest } from '../support/after-test.ts'
import { OtlpReceiver, patient } from '../support/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'
import { isFull } from './load.ts'
import type { ReceivedSpan } from '../support/otlp-decode.ts'

const mebibyte = 1024 * 1024

async function start(env: NodeJS.ProcessEnv = {}): Promise<{ daemon: Daemon; receiver: OtlpReceiver }> {
  const receiver = closeAfterTest(await OtlpReceiver.start())
  return { receiver, daemon: await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env }) }
}

/** Posts one finished pipeline. */
async function post(daemon: Daemon, body: string): Promise<{ status: number; retryAfter: string | null }> {
  const answer = await daemon.post(body)
  await answer.body?.cancel()
  return { status: answer.status, retryAfter: answer.headers.get('retry-after') }
}

/** Returns the pipeline ids in the order of their arrival, including repeated ones. */
function pipelines(spans: readonly ReceivedSpan[]): number[] {
  return spans
    .filter(({ attributes }) => attributes['cicd.pipeline.task.run.id'] === undefined)
    .map(({ attributes }) => Number(attributes['cicd.pipeline.run.id']))
}

async function metric(daemon: Daemon, line: RegExp): Promise<number> {
  const text = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
  return Number(line.exec(text)?.[1])
}

/** Sends requests, up to `concurrency` at a time, until `holds` returns false. Returns how many it sent. */
async function flood(concurrency: number, send: (id: number) => Promise<unknown>, holds: () => boolean, first: number) {
  let id = first
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (holds()) await send(id++)
    }),
  )
  return id - first
}

describe('a backend outage', () => {
  it('accepts deliveries during an outage until the store is full, then answers 503, and exports everything once the outage is over', async () => {
    const { daemon, receiver } = await start({ PIPESPAN_STORE_MAX_SIZE: isFull ? '8MiB' : '4MiB' })
    const stopOutage = receiver.misbehave({ fault: { kind: 'status', status: 503, headers: { 'retry-after': '1' } } })
    const taken: number[] = []
    const refused: Awaited<ReturnType<typeof post>>[] = []
    const body = (id: number): string => pipelineEvent({ id, commitMessage: 'x'.repeat(3_000) })
    const send = async (id: number): Promise<void> => {
      const answer = await post(daemon, body(id))
      if (answer.status === 202) taken.push(id)
      else refused.push(answer)
    }
    await flood(8, send, () => taken.length < 100, 1)
    const { now: before } = daemon.memory()
    await flood(8, send, () => refused.length < 50, 1_000)
    const { now: after } = daemon.memory()
    for (const { status, retryAfter } of refused) {
      expect(status).toBe(503)
      expect(Number(retryAfter)).toBeGreaterThan(0)
    }
    // Memory grows little, because the store's content is not in memory.
    expect(after - before).toBeLessThan(120 * mebibyte)

    // A flood can end before its first batch is rejected, so the test waits for these metrics only after the flood.
    await expect.poll(async () => metric(daemon, /^pipespan_store_fullness (\S+)/m)).toBeGreaterThanOrEqual(0.9)
    const full = /^pipespan_webhook_deliveries_total{.*reason="full".*} (\d+)/m
    await expect.poll(async () => metric(daemon, full)).toBe(refused.length)
    const closed = /^pipespan_export_circuit_breaker_state{.*state="closed".*} (\d+)/m
    await expect.poll(async () => metric(daemon, closed)).toBe(0)
    await expect.poll(async () => metric(daemon, /^pipespan_export_queue_size{.*} (\d+)/m)).toBeGreaterThan(0)
    const page = async (): Promise<string> => (await fetch(`${daemon.adminUrl}/`)).text()
    await expect.poll(page).toContain('PIPESPAN_STORE_MAX_SIZE')

    stopOutage()
    const all = new Set(taken)
    await receiver.until(() => receiver.counts.spans >= all.size * 3)
    expect(pipelines(receiver.spans).toSorted((a, b) => a - b)).toEqual([...all].sort((a, b) => a - b))
    // Once the backlog is delivered, the store has room for new data.
    await expect.poll(async () => (await post(daemon, body(100_000))).status, { interval: 200 }).toBe(202)
    await receiver.until(spans => pipelines(spans).includes(100_000))
  })
})

describe('backlog export', () => {
  it('exports a backlog from both ends after an outage, so that new pipelines arrive before the backlog is empty', async () => {
    const { daemon, receiver } = await start(patient)
    const stopOutage = receiver.misbehave({ fault: { kind: 'status', status: 503, headers: { 'retry-after': '1' } } })
    // After the outage, the backend answers the first request at once. It answers later ones only after the daemon has settled the new pipelines too,
    // however slow the machine is.
    const held = new EventEmitter()
    receiver.misbehave({ fault: { kind: 'slow' }, delay: once(held, 'release'), when: () => receiver.counts.spans > 0 })
    const count = isFull ? 1_500 : 600
    let posted = 0
    await flood(
      16,
      async id => post(daemon, pipelineEvent({ id, jobs: 1 })),
      () => posted++ < count,
      1,
    )
    const settled = async () => metric(daemon, /^pipespan_runs_settled_total{.*kind="complete".*} (\d+)/m)
    await expect.poll(settled).toBe(count)
    stopOutage()
    await receiver.until(spans => spans.length > 0)
    const fresh = [900_001, 900_002, 900_003]
    for (const id of fresh) {
      expect((await post(daemon, pipelineEvent({ id, jobs: 1 }))).status).toBe(202)
    }
    await expect.poll(settled).toBe(count + fresh.length)
    held.emit('release')
    await receiver.until(() => receiver.counts.spans >= (count + fresh.length) * 2)
    const order = pipelines(receiver.spans)
    expect(new Set(order).size).toBe(order.length)
    const places = fresh.map(id => order.indexOf(id))
    for (const place of places) expect(place).toBeLessThan(order.length * 0.9)
    // Four requests are sent concurrently, and may arrive in any order. Exports that were rejected in the outage are deferred, and arrive last.
    const early = order.slice(0, count / 4).filter(id => id < 900_000)
    expect(early.filter(id => id < count / 3).length).toBeGreaterThan(count / 15)
    expect(early.filter(id => id > (count * 2) / 3).length).toBeGreaterThan(count / 15)
  })
})

describe('a flood of webhooks', () => {
  let receiver: OtlpReceiver
  let daemon: Daemon
  beforeAll(async () => {
    receiver = await OtlpReceiver.start()
    daemon = await Daemon.startForAll({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    return async () => {
      await daemon.dispose()
      await receiver.close()
    }
  })
  // No load is left from an earlier test, because each test waits for everything that it sent.
  beforeEach(() => {
    receiver.behave()
    receiver.clear()
  })

  it('keeps exporting during a flood of webhooks', async () => {
    // The flood ends only after this many spans have been exported during it.
    const wanted = isFull ? 20_000 : 300
    const most = 50_000
    let posted = 0
    const sent = await flood(
      16,
      async id => {
        posted = id - 1_000_000
        await post(daemon, pipelineEvent({ id, jobs: 5 }))
      },
      () => receiver.counts.spans < wanted && posted < most,
      1_000_000,
    )
    expect(posted).toBeLessThan(most)
    await receiver.until(() => receiver.counts.spans >= sent * 6)
    expect(pipelines(receiver.spans)).toHaveLength(sent)
    expect(new Set(pipelines(receiver.spans)).size).toBe(sent)
  })

  it('answers all webhooks of a flood while the backend does not respond at all', async () => {
    const answered = async (count: number, first: number): Promise<number[]> => {
      const statuses: number[] = []
      let left = count
      const send = async (id: number): Promise<unknown> =>
        statuses.push((await post(daemon, pipelineEvent({ id }))).status)
      await flood(4, send, () => left-- > 0, first)
      return statuses
    }
    const hung = receiver.misbehave({ fault: { kind: 'hang' } })
    expect(await answered(20, 2_000_000)).toEqual(Array<number>(20).fill(202))
    await receiver.until((_, { requests }) => requests.length > 0)
    expect(await answered(100, 2_001_000)).toEqual(Array<number>(100).fill(202))
    expect(receiver.spans).toEqual([])
    hung()
  })
})
