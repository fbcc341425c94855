// Tests large scrapes: what is written first, what is omitted, and how the daemon serves clients that read slowly, disconnect or arrive at the
// same time.
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AggregationTemporality, DataPointType, type MetricData } from '@opentelemetry/sdk-metrics'
import { ValueType } from '@opentelemetry/api'
import { closeAfterTest } from '../../support/after-test.ts'
import { createHealth } from '../../../src/daemon/listeners/health.ts'
import { createListener } from '../../../src/daemon/listeners/listener.ts'
import { metricsPageOf } from './metrics-pages.ts'
import { runs } from '../../full.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { wholeMetrics, type ScrapedMetric } from '../../../src/daemon/listeners/exposition.ts'
import type { MetricsPageOptions } from '../../../src/daemon/listeners/metrics-page.ts'

const never: [number, number] = [0, 0]
const boundaries = [1, 5]

function metricOf(name: string, type: 'gauge' | 'counter' | 'histogram', points: number): MetricData {
  const common = {
    descriptor: { name, description: 'd', unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const dataPoints = Array.from({ length: points }, (_, at) => ({
    ...{ attributes: { at: String(at) }, startTime: never, endTime: never, value: at },
  }))
  switch (type) {
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints }
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    case 'histogram': {
      const value = { buckets: { boundaries, counts: [1, 0, 2] }, count: 3, sum: 9 }
      return {
        ...common,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: dataPoints.map(one => ({ ...one, value })),
      }
    }
  }
}

function scopeOf(metrics: readonly MetricData[]): Awaited<ReturnType<MetricsPageOptions['own']>> {
  return [{ scope: { name: 'test' }, metrics: [...metrics] }]
}

async function listening(options: Partial<MetricsPageOptions>): Promise<string> {
  const log = silentLog()
  const proveWritable = async (): Promise<void> => Promise.resolve()
  const health = createHealth({ proveWritable, stopping: () => false, now: () => performance.now(), log })
  const listener = createListener({ name: 'admin', host: '127.0.0.1', port: 0, trustProxy: false, health, log })
  listener.register(metricsPageOf(options))
  const { url } = await listener.start()
  closeAfterTest({ close: async () => listener.stop(0) })
  return url
}

async function scrape(options: Partial<MetricsPageOptions>): Promise<string[]> {
  const url = await listening(options)
  return (await (await fetch(`${url}/metrics`)).text()).split('\n').filter(line => line !== '')
}

const metrics = fc.array(
  fc.record({ type: fc.constantFrom('gauge', 'counter', 'histogram'), points: fc.integer({ min: 1, max: 9 }) }),
  { maxLength: 8 },
)

describe('the maximum number of series', () => {
  it('limits the series of all metrics together: gauges come first and histograms last, and omitted series are counted in the same response', async () => {
    await fc.assert(
      fc.asyncProperty(metrics, fc.integer({ min: 0, max: 120 }), async (all, maxSeries) => {
        const counts = { leftOut: 0 }
        const data = all.map(({ type, points }, at) => metricOf(`m${at}`, type, points))
        const own = async () => {
          const count = { ...metricOf('left_out', 'counter', 1) } as MetricData & { dataPoints: { value: number }[] }
          count.dataPoints[0]!.value = counts.leftOut
          return Promise.resolve(
            scopeOf([metricOf('own_times', 'histogram', 1), count, metricOf('own_size', 'gauge', 1)]),
          )
        }
        const lines = await scrape({
          ofPipelines: async () => Promise.resolve(wholeMetrics(scopeOf(data))),
          own,
          maxSeries,
          counts,
        })
        const samples = lines.filter(line => line.startsWith('m'))
        const whole = all.reduce(
          (sum, { type, points }) => sum + points * (type === 'histogram' ? boundaries.length + 3 : 1),
          0,
        )
        expect(samples.length).toBeLessThanOrEqual(maxSeries)
        expect(samples.length + counts.leftOut).toBe(whole)
        if (whole <= maxSeries) expect(counts.leftOut).toBe(0)
        expect(lines).toContain(`left_out_total{at="0"} ${counts.leftOut}`)
        expect(lines.filter(line => line.startsWith('own_'))).toHaveLength(1 + boundaries.length + 3)
        const types = lines.flatMap(line => / (gauge|counter|histogram)$/.exec(line)?.[1] ?? [])
        expect(types.lastIndexOf('gauge')).toBeLessThan(
          types.includes('histogram') ? types.indexOf('histogram') : Infinity,
        )
        // If a metric is omitted, no metric of a later type is shown.
        const shown = new Set(samples.map(line => /^m\d+/.exec(line)?.[0]))
        const order = ['gauge', 'counter', 'histogram']
        const first = all.findIndex((_, at) => !shown.has(`m${at}`))
        if (first >= 0)
          for (const [at, { type }] of all.entries())
            if (order.indexOf(type) > order.indexOf(all[first]!.type)) expect(shown).not.toContain(`m${at}`)
      }),
      runs(60),
    )
  })
})

/** Returns endless metrics. `read`: how many pieces have been read. `ended`: how many reads have ended. */
function endless(): { readonly metric: ScrapedMetric; readonly state: { read: number; ended: number } } {
  const state = { read: 0, ended: 0 }
  const metric = metricOf('endless', 'gauge', 2_000)
  async function* pieces(): AsyncGenerator<MetricData> {
    try {
      for (;;) {
        state.read += 1
        yield metric
        await Promise.resolve()
      }
    } finally {
      state.ended += 1
    }
  }
  return { metric: { metric, pieces }, state }
}

function ask(url: string): Socket {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
  return closeAfterTest(socket)
}

describe('a scraping client', () => {
  it('pauses reading metrics while a client does not read, serves others in the meantime, and stops when the client disconnects', async () => {
    const { metric, state } = endless()
    const url = await listening({ ofPipelines: async () => Promise.resolve([metric]) })
    const socket = ask(url).pause()
    // Once the client's buffers are full, no more pieces are read, however much time passes.
    let before = -1
    let quiet = 0
    while (quiet < 20) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      quiet = state.read === before && state.read > 0 ? quiet + 1 : 0
      before = state.read
    }
    // This limit allows for the buffers of both sockets and a piece or two. A piece is about 40 KB.
    expect(state.read * 40_000).toBeLessThan(64 * 2 ** 20)
    socket.destroy()
    await expect.poll(() => state.ended).toBe(1)
  })

  it('responds with 429 to a client that arrives while ten others are being served', async () => {
    const { metric, state } = endless()
    const { promise: go, resolve } = Promise.withResolvers<undefined>()
    const url = await listening({ ofPipelines: async () => go.then(() => [metric]) })
    const readers = [ask(url).pause(), ask(url).pause()]
    const refused: number[] = []
    const ended = new AbortController()
    const waiting = Array.from({ length: 12 }, async () => {
      const answer = await fetch(`${url}/metrics`, { signal: ended.signal }).catch(() => undefined)
      if (answer?.status === 429) refused.push(Number(answer.headers.get('retry-after')))
    })
    await expect.poll(() => refused.length).toBe(4)
    expect(refused.every(seconds => seconds > 0)).toBe(true)
    resolve(undefined)
    await expect.poll(() => state.read).toBeGreaterThan(1)
    ended.abort()
    await Promise.all(waiting)
    for (const reader of readers) reader.destroy()
    await expect.poll(() => state.ended).toBeGreaterThan(1)
  })

  it('reads no metrics for a HEAD request', async () => {
    const { metric, state } = endless()
    const url = await listening({ ofPipelines: async () => Promise.resolve([metric]) })
    const { status, headers } = await fetch(`${url}/metrics`, { method: 'HEAD' })
    expect([status, headers.get('content-type'), state.read]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
      0,
    ])
  })

  it('responds with an error if nothing can be read, and aborts the response if reading fails midway', async () => {
    const url = await listening({ ofPipelines: async () => Promise.reject(new Error('the disk is gone')) })
    expect((await fetch(`${url}/metrics`)).status).toBe(500)
    const metric = metricOf('large', 'gauge', 5_000)
    const pieces = async function* () {
      yield metric
      await Promise.reject(new Error('the disk is gone'))
    }
    const broken = await listening({ ofPipelines: async () => Promise.resolve([{ metric, pieces }]) })
    const answer = await fetch(`${broken}/metrics`)
    expect(answer.status).toBe(200)
    await expect(answer.text()).rejects.toThrow()
  })
})
