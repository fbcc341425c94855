// Tests the flush of cumulative metrics with a real store, real totals, and a receiver that decodes the requests.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { createMetricFlush, type MetricFlush, type MetricFlushOptions } from '../../../src/core/send/metric-flush.ts'
import { endpoint } from './bench.ts'
import { event, job, at, rules, snapshotterWith, settlerOf } from '../../flow/world.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { openSqlite } from '../../support/stores.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { Observation, ProjectFacts } from '../../../src/model/observation.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

const settings = telemetrySettings({ profiles })
const minute = 60_000

let now: number
let store: Store
let receiver: OtlpReceiver
let flushes: MetricFlush[]
/** For each flush, the number of its pauses. When it pauses, it has processed all responses. */
let rests: Map<MetricFlush, () => number>
const clock: Clock = {
  now: () => now,
  // A pause of the flush loop lasts until it is woken. All other pauses end at once.
  sleep: async (_ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted === true) resolve()
      else signal?.addEventListener('abort', () => resolve(), { once: true })
    }),
}

beforeEach(async () => {
  now = Date.UTC(2026, 5, 1, 13)
  store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
  receiver = await OtlpReceiver.start()
  flushes = []
  rests = new Map()
})
afterEach(async () => {
  for (const flush of flushes) await flush.finish(5_000)
  await store.close()
  await receiver.close()
})

function destination(name: string, temporality: 'cumulative' | 'delta' = 'cumulative', url = receiver.url) {
  return { name, temporality, signals: { metrics: endpoint(`${url}/v1/metrics`) } }
}

function start(options: Partial<MetricFlushOptions> = {}): MetricFlush {
  const { totals, repositories, leases } = store
  const { recentRuns, gaugeReadings } = repositories
  let rested = 0
  const sleep: Clock['sleep'] = async (ms, signal) => {
    rested += 1
    return clock.sleep(ms, signal)
  }
  const flush = createMetricFlush({
    destinations: [destination('default')],
    ...{
      totals,
      recentRuns,
      gaugeReadings,
      leases,
      settings,
      profile: 'generic',
      interval: minute,
      clock: { ...clock, sleep },
      log: silentLog(),
      ...options,
    },
  })
  flushes.push(flush)
  rests.set(flush, () => rested)
  flush.start()
  return flush
}

/** Observes pipelines, and takes snapshots of those that have ended. */
async function run(...observations: Observation[]): Promise<void> {
  await store.runs.transact(observations.flatMap(one => mergeObservations([one], 'webhook', rules)))
  now += rules.settle
  await settlerOf(store, {
    snapshotter: snapshotterWith({ to: [], measure: chunk => measure(chunk, settings) }),
    clock,
  }).drain()
}

function pipeline(id: number, status = 'success', project: Partial<ProjectFacts> = {}): Observation {
  const jobs = [job(id * 10, 'build', status, { started: 5, finished: 50 }, { duration: 45 })]
  const observed = event(status, { finishedAt: at(60) }, jobs, { duration: 60, name: 'Build' }, id)
  return { ...observed, project: { ...observed.project, ...project } }
}

/** The latest data points of a metric, by project and attributes. */
function latest(name: string): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const metric of receiver.metrics) {
    if (metric.name !== name) continue
    for (const point of metric.points) {
      const owner = metric.resource.attributes['service.instance.id'] as string
      const labels = Object.values(point.attributes as Record<string, string>).join(' ')
      found[`${owner}: ${labels}`] = 'value' in point ? point.value : point.count
    }
  }
  return found
}

/** Runs the next flush and waits until it has processed its responses. `requests`: the expected number of responses. */
async function flushed(flush: MetricFlush, requests = 1): Promise<void> {
  const answered = receiver.requests.length + requests
  const rested = rests.get(flush)?.() ?? 0
  flush.wake()
  await receiver.until(() => receiver.requests.length >= answered)
  await expect.poll(() => rests.get(flush)?.(), { interval: 10 }).toBeGreaterThan(rested)
}

describe('the flush of cumulative metrics', () => {
  it('sends one ResourceMetrics per project, even for two projects with the same name', async () => {
    await run(pipeline(1), pipeline(2, 'failed'), pipeline(3, 'success', { id: 4, path: 'other/shop' }))
    start()
    await receiver.until(() => receiver.metrics.length > 0)
    expect(latest('pipeline.status_total')).toEqual({
      '3: main success': 1,
      '3: main failed': 1,
      '4: main success': 1,
    })
    const resources = new Set(
      receiver.metrics.map(({ resource: { attributes } }) =>
        ['service.name', 'service.namespace', 'service.instance.id'].map(key => attributes[key] as string).join(' '),
      ),
    )
    expect([...resources].sort()).toEqual(['shop acme 3', 'shop other 4'])
    const sums = receiver.metrics.filter(metric => metric.kind === 'sum' || metric.kind === 'histogram')
    expect(new Set(sums.map(metric => metric.temporality))).toEqual(new Set(['cumulative']))
  })

  it("keeps a series' start time and totals across a restart", async () => {
    await run(pipeline(1))
    const first = start()
    await receiver.until(() => receiver.metrics.length > 0)
    await first.finish(5_000)
    const starts = () =>
      new Set(
        receiver.metrics
          .filter(({ name }) => name === 'pipeline.status_total')
          .flatMap(({ points }) => points.map(point => point.start)),
      )
    const before = starts()
    receiver.clear()
    now += 5 * minute
    await run(pipeline(2), pipeline(3))
    start()
    await receiver.until(() => receiver.metrics.length > 0)
    expect(latest('pipeline.status_total')).toEqual({ '3: main success': 3 })
    expect(latest('job.duration_seconds')).toEqual({ '3: build success': 3 })
    expect(starts()).toEqual(before)
  })

  it('runs the metric flush on one of two replicas, and on the other once the first stops', async () => {
    await run(pipeline(1))
    const first = start()
    await receiver.until(() => receiver.metrics.length > 0)
    const second = start()
    second.wake()
    await flushed(first)
    expect(receiver.requests).toHaveLength(2)
    await first.finish(5_000)
    const sent = receiver.requests.length
    await flushed(second)
    expect(receiver.requests).toHaveLength(sent + 1)
  })

  it('replaces a rejected metric flush with the next one, and shows the reason', async () => {
    await run(pipeline(1))
    receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'no metrics today' } })
    const flush = start()
    await receiver.until(() => receiver.requests.length > 0)
    await flushed(flush)
    expect(flush.status()).toMatchObject([
      {
        destination: 'default',
        signal: 'metrics',
        state: 'open',
        cause: 'unacceptable',
        lastError: { status: 400, message: 'no metrics today' },
      },
    ])
    receiver.behave()
    await run(pipeline(2))
    await flushed(flush)
    expect(flush.status()).toMatchObject([{ state: 'closed', cause: undefined }])
    expect(latest('pipeline.status_total')).toEqual({ '3: main success': 2 })
  })

  it('skips a rejected project in the metric flush without delaying others', async () => {
    await run(...[1, 2, 3, 4, 5].map(id => pipeline(id, 'success', { id, path: `acme/p${id}` })))
    receiver.misbehave({
      when: ({ metrics }) => metrics.some(({ resource }) => resource.attributes['service.instance.id'] === '4'),
      fault: { kind: 'status', status: 400, message: 'not this one' },
    })
    start()
    const owners = () => Object.keys(latest('pipeline.status_total')).map(name => name.slice(0, 1))
    await receiver.until(() => owners().length === 4)
    expect(owners()).toEqual(['1', '2', '3', '5'])
  })

  it('does not try projects one by one if the destination has never accepted anything', async () => {
    await run(...[1, 2, 3, 4, 5].map(id => pipeline(id, 'success', { id, path: `acme/p${id}` })))
    receiver.misbehave({ fault: { kind: 'status', status: 400, message: 'no metrics here' } })
    const flush = start()
    await receiver.until(() => receiver.requests.length > 0)
    await flushed(flush)
    const projects = receiver.requests.map(
      ({ metrics }) => new Set(metrics.map(({ resource }) => resource.attributes['service.instance.id'])),
    )
    // Every project alone would be rejected in the same way as all projects together, so after the first one the daemon tries no other project.
    expect(projects).toContainEqual(new Set(['1']))
    expect(projects).not.toContainEqual(new Set(['2']))
  })

  it('waits as long as the Retry-After header requires before the next metric flush', async () => {
    await run(pipeline(1))
    receiver.misbehave({ fault: { kind: 'status', status: 429, headers: { 'retry-after': '300' } }, times: 1 })
    const flush = start()
    await expect
      .poll(() => flush.status())
      .toMatchObject([{ state: 'open', cause: 'unavailable', nextTry: now + 300_000 }])
    flush.wake()
    now += 301_000
    await flushed(flush)
    expect(receiver.requests.map(({ status }) => status)).toEqual([429, 200])
  })

  it('retries the metric flush at once on request, if it is paused', async () => {
    await run(pipeline(1))
    receiver.misbehave({ fault: { kind: 'status', status: 429, headers: { 'retry-after': '300' } }, times: 1 })
    const flush = start()
    await expect.poll(() => flush.status()).toMatchObject([{ state: 'open' }])
    expect(flush.tryNow('another')).toBe(0)
    expect(flush.tryNow('default')).toBe(1)
    await flushed(flush)
    expect(receiver.requests.map(({ status }) => status)).toEqual([429, 200])
    expect(flush.tryNow()).toBe(0)
  })

  it('flushes metrics independently for each destination', async () => {
    await run(pipeline(1))
    start({ destinations: [destination('down', 'cumulative', 'http://127.0.0.1:1'), destination('default')] })
    await receiver.until(() => receiver.metrics.length > 0)
    expect(latest('pipeline.status_total')).toEqual({ '3: main success': 1 })
  })
})

describe('metrics of active runs', () => {
  it('counts active runs by name and state, in separate requests, with an explicit 0 when the last run ends', async () => {
    await run(
      event('running', {}, [], { name: 'Build' }, 1),
      event('running', {}, [], { name: 'Build' }, 2),
      event('pending', {}, [], { name: 'Build' }, 3),
      pipeline(9),
    )
    const flush = start()
    await receiver.until(() => receiver.requests.length === 2)
    expect(latest('cicd.pipeline.run.active')).toEqual({ '3: Build executing': 2, '3: Build pending': 1 })
    for (const { metrics } of receiver.requests) {
      const names = new Set(metrics.map(({ name }) => name === 'cicd.pipeline.run.active'))
      expect(names.size).toBe(1)
    }
    now += minute
    await run(pipeline(1), pipeline(2), pipeline(3))
    await flushed(flush, 2)
    expect(latest('cicd.pipeline.run.active')).toEqual({ '3: Build executing': 0, '3: Build pending': 0 })
    now += 25 * 60 * minute
    receiver.clear()
    await flushed(flush)
    expect(latest('cicd.pipeline.run.active')).toEqual({})
  })

  it('counts active jobs, and measures the longest wait from when the job was first observed waiting', async () => {
    const waiting = job(1, 'test', 'pending', {}, { tags: ['gpu'], queuedDuration: 30 })
    const other = (status: string) => job(2, 'lint', status, { started: 1 }, { tags: ['docker'] })
    await run(event('running', {}, [waiting, other('running')], {}, 1))
    const flush = start()
    const active = 'platform.cicd.pipeline.task.run.active'
    const oldest = 'platform.cicd.pipeline.task.run.oldest_wait'
    await receiver.until(() => receiver.metrics.some(({ name }) => name === oldest))
    expect(latest(active)).toEqual({ '3: pending gpu': 1, '3: running docker': 1 })
    const first = latest(oldest)['3: gpu'] as number
    expect(first).toBeGreaterThanOrEqual(30)
    now += 10 * minute
    // Another job changes. The run then has a newer observation, but it does not concern the waiting job.
    await run(event('running', {}, [job(2, 'lint', 'success', { started: 1, finished: 9 })], {}, 1))
    now += minute
    receiver.clear()
    await flushed(flush)
    expect(latest(active)).toEqual({ '3: pending gpu': 1, '3: running docker': 0 })
    expect(latest(oldest)['3: gpu']).toBeGreaterThanOrEqual(first + 11 * 60)
    await run(event('running', {}, [job(1, 'test', 'running', { started: 700 }, { tags: ['gpu'] })], {}, 1))
    receiver.clear()
    await flushed(flush)
    expect(latest(oldest)).toEqual({ '3: gpu': 0 })
    expect(latest(active)).toMatchObject({ '3: running gpu': 1, '3: pending gpu': 0 })
  })

  it('exports metrics of active runs as cumulative, and flushes only these if the temporality is delta', async () => {
    await run(event('running', {}, [], {}, 1), pipeline(9))
    start({ destinations: [destination('default', 'delta')] })
    await receiver.until(() => receiver.requests.length > 0)
    expect(receiver.metrics).toMatchObject([
      { name: 'cicd.pipeline.run.active', kind: 'sum', temporality: 'cumulative', monotonic: false, unit: '{run}' },
    ])
  })
})
