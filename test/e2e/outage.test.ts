// A backend that is away for long, one that is slow, and a flood of webhooks, on the shipped daemon: what is taken is bounded
// and told, what was taken arrives, and neither side ever waits for the other.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { OtlpReceiver } from '../../src/demo/otlp-receiver.ts'
import { pipelineEvent } from '../bounds/pipelines.ts'
import { Daemon } from './daemon.ts'
import type { ReceivedSpan } from '../../src/demo/otlp-traces.ts'

const mebibyte = 1024 * 1024

async function start(env: NodeJS.ProcessEnv = {}): Promise<{ daemon: Daemon; receiver: OtlpReceiver }> {
  const receiver = await OtlpReceiver.start()
  onTestFinished(async () => receiver.close())
  return { receiver, daemon: await Daemon.start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...env }) }
}

/** Posts one pipeline that is over; answers the status and how long it took, ms. */
async function post(
  daemon: Daemon,
  body: string,
): Promise<{ status: number; retryAfter: string | null; took: number }> {
  const began = performance.now()
  const answer = await daemon.post(body, { 'x-service-event': 'Pipeline Hook' })
  await answer.body?.cancel()
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), took: performance.now() - began }
}

/** Ids of pipelines in the order of their arrival, each as often as it came. */
function pipelines(spans: readonly ReceivedSpan[]): number[] {
  return spans
    .filter(({ attributes }) => attributes['cicd.pipeline.task.run.id'] === undefined)
    .map(({ attributes }) => Number(attributes['cicd.pipeline.run.id']))
}

async function metric(daemon: Daemon, line: RegExp): Promise<number> {
  const text = await (await fetch(`${daemon.adminUrl}/metrics`)).text()
  return Number(line.exec(text)?.[1])
}

/** `abreast` posts at a time, until `holds` is false. */
async function flood(abreast: number, send: (id: number) => Promise<unknown>, holds: () => boolean, first: number) {
  let id = first
  await Promise.all(
    Array.from({ length: abreast }, async () => {
      while (holds()) await send(id++)
    }),
  )
  return id - first
}

describe('a backend that is away', () => {
  it(
    'fills the store to its limit and no further: 503 then, all of it visible, and everything flows when it is back',
    { timeout: 60_000 },
    async () => {
      const { daemon, receiver } = await start({ PIPESPAN_STORE_MAX_SIZE: '8MiB' })
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
      await flood(8, send, () => refused.length < 200, 1_000)
      const { now: after } = daemon.memory()
      for (const { status, retryAfter } of refused) {
        expect(status).toBe(503)
        expect(Number(retryAfter)).toBeGreaterThan(0)
      }
      // What the store holds is not in memory.
      expect(after - before).toBeLessThan(120 * mebibyte)

      expect(await metric(daemon, /^pipespan_store_fullness (\S+)/m)).toBeGreaterThanOrEqual(0.9)
      expect(await metric(daemon, /^pipespan_webhook_deliveries_total{.*reason="full".*} (\d+)/m)).toBe(refused.length)
      expect(await metric(daemon, /^pipespan_export_healthy{.*} (\d+)/m)).toBe(0)
      expect(await metric(daemon, /^pipespan_export_queue_size{.*} (\d+)/m)).toBeGreaterThan(0)
      const page = await (await fetch(`${daemon.adminUrl}/`)).text()
      expect(page).toContain('PIPESPAN_STORE_MAX_SIZE')

      stopOutage()
      const all = new Set(taken)
      await receiver.until(spans => new Set(pipelines(spans)).size === all.size, 30_000)
      expect(pipelines(receiver.spans).toSorted((a, b) => a - b)).toEqual([...all].sort((a, b) => a - b))
      // Once delivered, it makes room for what is new.
      await expect
        .poll(async () => (await post(daemon, body(100_000))).status, { timeout: 20_000, interval: 200 })
        .toBe(202)
      await receiver.until(spans => pipelines(spans).includes(100_000))
    },
  )

  it(
    'gets its backlog from both ends when it is back, and what is fresh before the backlog has ended',
    { timeout: 60_000 },
    async () => {
      const { daemon, receiver } = await start()
      const stopOutage = receiver.misbehave({ fault: { kind: 'status', status: 503, headers: { 'retry-after': '1' } } })
      const count = 1_500
      let next = 1
      await flood(
        16,
        async id => post(daemon, pipelineEvent({ id, jobs: 1 })),
        () => next++ <= count - 16,
        1,
      )
      await expect
        .poll(async () => metric(daemon, /^pipespan_runs_settled_total{.*kind="complete".*} (\d+)/m), {
          timeout: 20_000,
        })
        .toBeGreaterThan(count - 17)
      stopOutage()
      receiver.misbehave({ fault: { kind: 'slow' }, delay: 300 })
      await receiver.until(spans => spans.length > 0, 20_000)
      const fresh = [900_001, 900_002, 900_003]
      for (const id of fresh) {
        expect((await post(daemon, pipelineEvent({ id, jobs: 1 }))).status).toBe(202)
        await sleep(100)
      }
      await receiver.until(spans => pipelines(spans).length >= count + fresh.length - 16, 30_000)
      const order = pipelines(receiver.spans)
      expect(new Set(order).size).toBe(order.length)
      const places = fresh.map(id => order.indexOf(id))
      for (const place of places) expect(place).toBeLessThan(order.length * 0.9)
      const early = order.slice(0, 400).filter(id => id < 900_000)
      expect(Math.min(...early)).toBeLessThan(count * 0.1)
      expect(Math.max(...early)).toBeGreaterThan(count * 0.8)
    },
  )
})

describe('a flood of webhooks', () => {
  it('never stops exporting', { timeout: 60_000 }, async () => {
    const { daemon, receiver } = await start()
    const end = Date.now() + 6_000
    const seen: number[] = []
    const watch = setInterval(() => seen.push(receiver.counts.requests), 1_000)
    const sent = await flood(
      16,
      async id => post(daemon, pipelineEvent({ id, jobs: 5 })),
      () => Date.now() < end,
      1,
    )
    clearInterval(watch)
    // Something arrived in every second but the first, in which nothing has settled yet.
    const gains = seen.slice(1).map((count, index) => count - (seen[index] ?? 0))
    expect(gains.length).toBeGreaterThan(2)
    for (const gain of gains) expect(gain).toBeGreaterThan(0)
    await receiver.until(spans => pipelines(spans).length === sent, 30_000)
    expect(new Set(pipelines(receiver.spans)).size).toBe(sent)
  })

  it('is answered as quickly when the backend is slow as when it is quick', { timeout: 60_000 }, async () => {
    const { daemon, receiver } = await start()
    const took: number[] = []
    const send = async (id: number): Promise<void> => {
      const answer = await post(daemon, pipelineEvent({ id }))
      expect(answer.status).toBe(202)
      took.push(answer.took)
      await sleep(20)
    }
    const typical = (): number => took.sort((a, b) => a - b)[Math.floor(took.length * 0.9)] ?? Infinity
    const during = async (ms: number, first: number): Promise<number> => {
      took.length = 0
      const end = Date.now() + ms
      await flood(4, send, () => Date.now() < end, first)
      return typical()
    }
    await during(1_000, 1)
    const quick = await during(2_000, 10_000)
    receiver.misbehave({ fault: { kind: 'slow' }, delay: 5_000 })
    const slow = await during(4_000, 20_000)
    expect(slow).toBeLessThan(quick * 3 + 20)
  })
})
