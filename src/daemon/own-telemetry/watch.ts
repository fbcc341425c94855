// Measures operations of other modules by wrapping their ports: their durations, and a span for each slow operation. The modules do not have to be
// changed for this.
import { SpanStatusCode, type Attributes, type Meter, type Tracer } from '@opentelemetry/api'
import { reasonOf } from '../../lib/fault.ts'
import type { Budget } from '../../platform/port/budget.ts'
import type { ExportMeters } from '../../core/send/export-stats.ts'
import { namedPlatform, observedMetrics, recordedMetrics, type ObservedMetric, type RecordedMetric } from './table.ts'
import type { Observed, Point } from './observe-parts.ts'
import type { Store } from '../../core/store/ports/store.ts'

export interface WatchOptions {
  readonly meters: OwnMeters
  /** The tracer that creates spans; if undefined, no spans are created. */
  readonly tracer?: Tracer | undefined
  /** Returns the Unix time in milliseconds. */
  readonly now: () => number
  /** Returns the time of a monotonic clock, ms; by default, the clock of this process. */
  readonly elapsed?: (() => number) | undefined
}

export interface Watch {
  /** Wraps a store so that its operations are timed. */
  store(store: Store): Store
  /** Records the duration of a store operation that was timed in another thread. */
  operation(name: string, tookMs: number, failed: boolean): void
  /** Wraps an API budget so that requests and waits are measured. `platform` is the name of its connection. */
  budget(budget: Budget, platform: string): Budget
  /** Records that the platform has responded with 401. */
  readonly unauthorized: (platform: string) => void
  /** Records that some items in one of the platform's lists cannot be read. */
  readonly leftOut: (list: string, count: number) => void
  readonly exports: ExportMeters
}

/** The minimum duration for an operation to get a span, ms. */
const slow = 250
const watched = ['runs', 'outbox', 'totals', 'pruning'] as const
/** The maximum number of leases tracked in order to measure export latency. */
const maxLeases = 1_000

export function createWatch({ meters, tracer, now, elapsed = () => performance.now() }: WatchOptions): Watch {
  async function timed<T>(operation: string, work: () => Promise<T>): Promise<T> {
    const startTime = now()
    const since = elapsed()
    let error: string | undefined
    try {
      return await work()
    } catch (thrown) {
      error = reasonOf(thrown)
      throw thrown
    } finally {
      const tookMs = elapsed() - since
      meters.record('storeDuration', tookMs / 1000, { operation, ...(error === undefined ? {} : { error: 'true' }) })
      if (tracer !== undefined && (tookMs >= slow || error !== undefined)) {
        const span = tracer.startSpan(`store ${operation}`, {
          startTime,
          attributes: { 'pipespan.operation': operation },
        })
        if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
        span.end(startTime + tookMs)
      }
    }
  }

  function port<T extends object>(name: string, inner: T): T {
    return new Proxy(inner, {
      get: (target, key, receiver) => {
        const value: unknown = Reflect.get(target, key, receiver)
        if (typeof value !== 'function') return value
        return (...given: unknown[]) =>
          timed(`${name}.${String(key)}`, async () => (value as (...all: unknown[]) => unknown).apply(target, given))
      },
    })
  }

  return {
    operation: (operation, tookMs, failed) =>
      meters.record('storeDuration', tookMs / 1000, { operation, ...(failed ? { error: 'true' } : {}) }),
    store: store => {
      const ports = Object.fromEntries(watched.map(name => [name, port(name, store[name])])) as unknown as Store
      return { ...store, ...ports, outbox: withLatency(ports.outbox, meters) }
    },
    budget: (budget, platform) => ({
      take: async (priority, signal) => {
        const since = now()
        await budget.take(priority, signal)
        const attributes = { priority, ...namedPlatform(platform) }
        meters.record('platformRequests', 1, attributes)
        meters.record('budgetWait', (now() - since) / 1000, attributes)
      },
      observed: async facts => {
        if (facts.pause !== undefined) meters.record('platformPauses', 1, namedPlatform(platform))
        await budget.observed(facts)
      },
      snapshot: async () => budget.snapshot(),
      isShort: async priority => budget.isShort(priority),
    }),
    unauthorized: platform => meters.record('platformUnauthorized', 1, namedPlatform(platform)),
    leftOut: (list, count) => meters.record('platformLeftOut', count, { list }),
    exports: {
      requested: ({ destination, signal }, { as, tookMs, bytes, items }) => {
        meters.record('requestDuration', tookMs / 1000, { destination, signal, verdict: as })
        meters.record('requestSize', bytes, { destination, signal })
        if (tracer === undefined || tookMs < slow) return
        const end = now()
        const attributes = { destination, signal, verdict: as, 'pipespan.items': items, 'pipespan.bytes': bytes }
        tracer.startSpan(`export ${signal}`, { startTime: end - tookMs, attributes }).end(end)
      },
    },
  }
}

/** Tracks leased outbox entries, and measures their latency when they are delivered. */
function withLatency(exports: Store['outbox'], meters: OwnMeters): Store['outbox'] {
  const leases = new Map<string, { queue: { destination: string; signal: string }; observedAt: Map<number, number> }>()
  return {
    ...exports,
    lease: async (queue, ...limits) => {
      const lease = await exports.lease(queue, ...limits)
      if (lease.items.length === 0) return lease
      const [oldest] = leases.keys()
      if (leases.size >= maxLeases && oldest !== undefined) leases.delete(oldest)
      const { destination, signal } = queue
      const observedAt = new Map(lease.items.map(one => [one.id, one.observedAt ?? one.pendingSince]))
      leases.set(lease.token, { queue: { destination, signal }, observedAt })
      return lease
    },
    settle: async (token, settlements) => {
      const result = await exports.settle(token, settlements)
      const leased = leases.get(token)
      if (leased === undefined) return result
      for (const { id, as } of settlements) {
        const since = leased.observedAt.get(id)
        leased.observedAt.delete(id)
        if (as === 'delivered' && since !== undefined) {
          meters.record('latency', Math.max(0, result.at - since) / 1000, leased.queue)
        }
      }
      if (leased.observedAt.size === 0) leases.delete(token)
      return result
    },
  }
}

// Creates the daemon's own instruments from their table. Recorded metrics are written when something happens. Observed metrics are read at collection
// time, from counters that other modules already have.
type Recorded = keyof typeof recordedMetrics

interface OwnMeters {
  /** Increments a counter, or records a value in a histogram. */
  record(metric: Recorded, value: number, attributes?: Attributes): void
}

/** Creates the meters. `observe` is called once per collection; if it fails, the observed metrics are omitted. `added` are the features' metrics. */
export function createMeters(
  meter: Meter,
  observe: () => Promise<Observed>,
  added: readonly ObservedMetric[],
): OwnMeters {
  const all: readonly ObservedMetric[] = [...observedMetrics, ...added]
  const write = Object.fromEntries(
    Object.entries<RecordedMetric>(recordedMetrics).map(([key, { name, type, unit, description, bounds }]) => {
      if (type === 'counter') {
        const counter = meter.createCounter(name, { unit, description })
        return [key, (value: number, attributes?: Attributes) => counter.add(value, attributes)]
      }
      const advice = bounds === undefined ? {} : { advice: { explicitBucketBoundaries: [...bounds] } }
      const histogram = meter.createHistogram(name, { unit, description, ...advice })
      return [key, (value: number, attributes?: Attributes) => histogram.record(value, attributes)]
    }),
  ) as Record<Recorded, (value: number, attributes?: Attributes) => void>

  const instruments = all.map(({ name, type, unit, description }) =>
    type === 'counter'
      ? meter.createObservableCounter(name, { unit, description })
      : meter.createObservableGauge(name, { unit, description }),
  )
  meter.addBatchObservableCallback(async result => {
    const observed = await observe()
    all.forEach((metric, index) => {
      const instrument = instruments[index]
      if (instrument === undefined) return
      const points: readonly Point[] = metric.points(observed)
      for (const { value, attributes } of points) result.observe(instrument, value, attributes)
    })
  }, instruments)

  return { record: (metric, value, attributes) => write[metric](value, attributes) }
}
