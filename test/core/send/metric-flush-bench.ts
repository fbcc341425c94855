// Sets up a store with totals, a receiver and metric flushes for tests, with a clock that the test moves.
import { expect } from 'vitest'
import { at, event, job, minute, rules, settlerOf, snapshotterWith } from '../../flow/world.ts'
import { createMetricFlush, type MetricFlush, type MetricFlushOptions } from '../../../src/core/send/metric-flush.ts'
import { endpoint } from './bench.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { openSqlite } from '../../support/stores.ts'
import { OtlpReceiver } from '../../support/otlp-receiver.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { Observation, ProjectFacts } from '../../../src/model/observation.ts'

const settings = telemetrySettings({ profiles })

type FlushDestination = MetricFlushOptions['destinations'][number]

export interface MetricFlushBench {
  readonly receiver: OtlpReceiver
  now(): number
  /** Moves the clock forward by `ms`. */
  move(ms: number): void
  destination(name: string, temporality?: 'cumulative' | 'delta', url?: string): FlushDestination
  /** Starts a metric flush, which is finished at the end of the test. */
  start(options?: Partial<MetricFlushOptions>): MetricFlush
  /** Observes pipelines, and takes snapshots of those that have ended. */
  run(...observations: readonly Observation[]): Promise<void>
  /** Returns the latest data points of a metric, by project and attributes. */
  latest(name: string): Record<string, unknown>
  /** Runs the next flush and waits until it has processed its responses. `requests`: the expected number of responses. */
  flushed(flush: MetricFlush, requests?: number): Promise<void>
  dispose(): Promise<void>
}

export async function openMetricFlushBench(): Promise<MetricFlushBench> {
  let now = Date.UTC(2026, 5, 1, 13)
  const store = openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })
  const receiver = await OtlpReceiver.start()
  /** For each flush, the number of its pauses. When it pauses, it has processed all responses. */
  const pauses = new Map<MetricFlush, () => number>()
  const clock: Clock = {
    now: () => now,
    // A pause of the flush loop lasts until it is woken. All other pauses end at once.
    sleep: async (_ms, signal) =>
      new Promise(resolve => {
        if (signal?.aborted === true) resolve()
        else signal?.addEventListener('abort', () => resolve(), { once: true })
      }),
  }
  const destination: MetricFlushBench['destination'] = (name, temporality = 'cumulative', url = receiver.url) => {
    return { name, temporality, signals: { metrics: endpoint(`${url}/v1/metrics`) } }
  }
  return {
    receiver,
    now: () => now,
    move: ms => {
      now += ms
    },
    destination,
    start: (options = {}) => {
      const { totals, repositories, leases } = store
      const { recentRuns, gaugeReadings } = repositories
      let paused = 0
      const sleep: Clock['sleep'] = async (ms, signal) => {
        paused += 1
        return clock.sleep(ms, signal)
      }
      const flush = createMetricFlush({
        ...{ destinations: [destination('default')], totals, recentRuns, gaugeReadings, leases, settings },
        ...{ profile: 'generic', interval: minute, clock: { ...clock, sleep }, log: silentLog() },
        ...options,
      })
      pauses.set(flush, () => paused)
      flush.start()
      return flush
    },
    run: async (...observations) => {
      await store.runs.transact(observations.flatMap(one => mergeObservations([one], 'webhook', rules)))
      now += rules.settle
      const snapshotter = snapshotterWith({ to: [], measure: chunk => measure(chunk, settings) })
      await settlerOf(store, { snapshotter, clock }).drain()
    },
    latest: name => {
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
    },
    flushed: async (flush, requests = 1) => {
      const answered = receiver.requests.length + requests
      const paused = pauses.get(flush)?.() ?? 0
      flush.wake()
      await receiver.until(() => receiver.requests.length >= answered)
      await expect.poll(() => pauses.get(flush)?.(), { interval: 10 }).toBeGreaterThan(paused)
    },
    dispose: async () => {
      for (const flush of pauses.keys()) await flush.finish(5_000)
      await store.close()
      await receiver.close()
    },
  }
}

/** A finished pipeline with one job. */
export function pipeline(id: number, status = 'success', project: Partial<ProjectFacts> = {}): Observation {
  const jobs = [job(id * 10, 'build', status, { started: 5, finished: 50 }, { duration: 45 })]
  const observed = event(status, { finishedAt: at(60) }, jobs, { duration: 60, name: 'Build' }, id)
  return { ...observed, project: { ...observed.project, ...project } }
}
