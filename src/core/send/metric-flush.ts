// The flush of cumulative metrics: at every interval one replica sends the running totals of every project, and the active runs.
//
// Metrics are not queued: totals contain everything that was ever counted, so the next flush replaces one that failed. Counts of active runs do not
// depend on the destination's temporality; they are sent in their own requests, together with the inventory gauges.
import { randomUUID } from 'node:crypto'
import { createExportStats, type ExportMeters } from './export-stats.ts'
import { createLoop, type Loop } from '../../lib/loop.ts'
import { createSender } from './sender.ts'
import { encodeResourceMetrics } from '../telemetry/encode.ts'
import { MetricDelivery, type EncodedProject, type FlushTarget } from './metric-delivery.ts'
import { measuredNow, readActive, type MetricSources } from './active-runs.ts'
import { toCumulative } from '../telemetry/metrics/cumulative.ts'
import { resourceMetrics } from '../telemetry/metrics/data.ts'
import { measuredResource } from '../telemetry/metrics/gauges.ts'
import { elapsed, timeOfDay, type Clock } from '../../lib/clock.ts'
import { subjectOf } from '../../model/route.ts'
import type { Destination } from './destination.ts'
import type { ExportQueueStatus } from './exporter.ts'
import type { Leases } from '../store/ports/store.ts'
import type { Log } from '../../lib/log.ts'
import type { ResourceMetrics } from '../telemetry/otlp/messages.ts'

export interface MetricFlushOptions extends MetricSources {
  /** The destinations of the flush. Those that get no metrics are ignored. */
  readonly destinations: readonly (Destination & { readonly temporality?: 'cumulative' | 'delta' | undefined })[]
  readonly leases: Leases
  /** The time between two flushes, ms. */
  readonly interval: number
  readonly clock: Clock
  readonly log: Log
  readonly meters?: ExportMeters | undefined
}

export interface MetricFlush extends Loop {
  /** Flushes once more if this replica has the lease, then stops. Requests are aborted after `deadlineMs`. */
  finish(deadlineMs: number): Promise<void>
  /** Ends the pause of one destination, or the pauses of all destinations. Returns how many were paused. */
  tryNow(destination?: string): number
  status(): readonly ExportQueueStatus[]
}

const leaseName = 'metric-flush'
/** The minimum pause between two flushes, ms, so that flushing does not keep the store busy. */
const minInterval = 100
/** The number of projects that a flush reads from the store at a time. */
const pageSize = 50
/** The maximum time that an aborted request may take to end, in ms. */
const maxAbortMs = 2_000

export function createMetricFlush(options: MetricFlushOptions): MetricFlush {
  const { totals, leases, settings, interval, clock, log } = options
  const holder = randomUUID()
  /** If the replica with the lease dies, another replica takes over after two intervals. */
  const leaseMs = 2 * interval + 10_000
  const targets = options.destinations.flatMap(destination => targetOf(destination, options) ?? [])
  const hasLease = async (): Promise<boolean> => leases.take(leaseName, holder, leaseMs)

  async function flush(): Promise<void> {
    if (!(await hasLease())) return
    // Active runs are read even if no destination takes metrics, because each read also records the series, and scrapes show a recorded series as 0
    // after it has ended.
    const active = await readActive(options)
    if (targets.length === 0) return
    const now = clock.now()
    const at = elapsed(clock)
    const latest = (await measuredNow(options, active, now)).map(({ owner, metrics }) =>
      encodedFor(owner, resourceMetrics(measuredResource(owner, settings), metrics)),
    )
    await Promise.all(targets.filter(({ nextTry }) => nextTry <= at).map(target => flushTo(target, latest)))
  }

  async function flushTo(target: FlushTarget, latest: readonly EncodedProject[]): Promise<void> {
    const delivery = new MetricDelivery(target, clock, log)
    if (target.isCumulative) {
      let from: number | undefined
      do {
        const page = await totals.read(pageSize, from)
        const projects = page.projects.flatMap(project => {
          const metrics = toCumulative(project, page.now, settings)
          return metrics === undefined ? [] : [encodedFor(project, metrics)]
        })
        if (!(await delivery.send(projects)) || !(await hasLease())) return
        from = page.next
      } while (from !== undefined)
    }
    await delivery.send(latest)
  }

  const loop = createLoop({
    name: 'metric flush',
    clock,
    log,
    turn: async () => {
      await flush()
      return Math.max(minInterval, interval)
    },
  })

  return {
    ...loop,
    finish: async deadlineMs => {
      const done = new AbortController()
      const last = (async () => {
        await loop.stop()
        await flush()
      })()
      void last.catch(() => undefined).finally(() => done.abort())
      await clock.sleep(deadlineMs, done.signal)
      for (const { sender } of targets) sender.abort()
      await clock.sleep(maxAbortMs, done.signal)
      await Promise.all(targets.map(async ({ sender }) => sender.close()))
      await leases.release(leaseName, holder)
    },
    tryNow: destination => {
      const waiting = targets.filter(
        ({ name, nextTry }) => nextTry > elapsed(clock) && (destination === undefined || name === destination),
      )
      for (const target of waiting) target.nextTry = 0
      if (waiting.length > 0) loop.wake()
      return waiting.length
    },
    status: () =>
      targets
        .filter(({ isCumulative }) => isCumulative)
        .map(({ name, cause, stats, nextTry }) => ({
          destination: name,
          signal: 'metrics' as const,
          state: cause === undefined ? ('closed' as const) : ('open' as const),
          cause,
          pending: 0,
          dead: 0,
          putOff: 0,
          nextTry: nextTry > elapsed(clock) ? timeOfDay(nextTry, clock) : undefined,
          lastError: stats.lastError,
          lastSuccess: stats.lastSuccess,
          counters: { ...stats.counters },
        })),
  }
}

function targetOf(
  { name, signals, takes, headerValues, bearer, proxy, temporality }: MetricFlushOptions['destinations'][number],
  { clock, log, meters }: MetricFlushOptions,
): FlushTarget | undefined {
  const endpoint = signals.metrics
  if (endpoint === undefined) return undefined
  return {
    name,
    ...{ takes, headerValues },
    isCumulative: temporality !== 'delta',
    sender: createSender({ signal: 'metrics', endpoint, bearer, proxy, connections: 1, clock }),
    stats: createExportStats({ destination: name, signal: 'metrics' }, clock, log, meters),
    cause: undefined,
    hasAccepted: false,
    nextTry: 0,
  }
}

function encodedFor(owner: Parameters<typeof subjectOf>[0], metrics: ResourceMetrics): EncodedProject {
  const subject = subjectOf(owner)
  const project = subject.path ?? String(subject.projectId ?? subject.instance)
  return { ...subject, project, bytes: encodeResourceMetrics([metrics]) }
}
