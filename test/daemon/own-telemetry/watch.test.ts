// Tests what the daemon measures about itself, on a real store: durations and latencies as metrics, slow operations as spans.
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { describe, expect, it } from 'vitest'
import { closeAfterTest } from '../../support/after-test.ts'
import { createScrape, localProvider } from '../../../src/daemon/own-telemetry/sdk.ts'
import { createMeters, createWatch } from '../../../src/daemon/own-telemetry/watch.ts'
import { openSqlite } from '../../support/stores.ts'
import { observedMetrics, ownMetrics } from '../../../src/daemon/own-telemetry/table.ts'
import type { RunWork } from '../../../src/core/store/ports/runs.ts'
import { mergeObservations } from '../../../src/core/take-in/merge-observations.ts'
import { event, at, rules, settlerOf } from '../../flow/world.ts'

function world() {
  let now = at(0)
  const scrape = createScrape()
  const spans = new InMemorySpanExporter()
  const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }).getTracer(
    'test',
  )
  const nothing = async (): Promise<never> => {
    throw new Error('nothing to look at')
  }
  const meters = createMeters(localProvider(scrape).getMeter('test'), nothing, [])
  const watch = createWatch({ meters, tracer, now: () => now, elapsed: () => now })
  const store = closeAfterTest(watch.store(openSqlite(':memory:', { now: () => now, maxSize: 2 ** 30 })))
  const points = async (name: string) =>
    (await scrape.collect())
      .flatMap(({ metrics }) => metrics)
      .filter(metric => metric.descriptor.name === name)
      .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ attributes, value })))
  return {
    store,
    spans,
    watch,
    points,
    now: () => now,
    move: (ms: number) => {
      now += ms
    },
  }
}

describe('an instrumented store', () => {
  it('reports how long each store operation took, and which operations failed', async () => {
    const { store, points } = world()
    await store.runs.takeIn({ keys: ['a'], plan: () => ({ work: [] }) })
    const failing: RunWork = {
      key: { instance: 'https://git.example.com', pipelineId: 1 },
      jobs: 'all',
      decide: () => {
        throw new Error('the work fails')
      },
    }
    await expect(store.runs.transact([failing])).rejects.toThrow('the work fails')
    expect(await points('pipespan.store.operation.duration')).toMatchObject([
      { attributes: { operation: 'runs.takeIn' }, value: { count: 1 } },
      { attributes: { operation: 'runs.transact', error: 'true' }, value: { count: 1 } },
    ])
  })

  it("reports how many items were omitted from the platform's lists, by list", async () => {
    const { watch, points } = world()
    watch.leftOut('jobs', 2)
    watch.leftOut('bridges', 1)
    watch.leftOut('jobs', 3)
    expect(await points('pipespan.platform.left_out')).toEqual([
      { attributes: { list: 'jobs' }, value: 5 },
      { attributes: { list: 'bridges' }, value: 1 },
    ])
  })

  it('creates spans only for operations that are slow or fail', async () => {
    const { store, spans, move } = world()
    const working = (ms: number): RunWork => ({
      key: { instance: 'https://git.example.com', pipelineId: 1 },
      jobs: 'all',
      decide: () => {
        move(ms)
        return undefined
      },
    })
    await store.runs.transact([working(249)])
    expect(spans.getFinishedSpans()).toEqual([])
    await store.runs.transact([working(250)])
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual(['store runs.transact'])
  })

  it('reports the time from the last observation of a pipeline to its delivery', async () => {
    const { store, points, move, now } = world()
    await store.runs.transact(mergeObservations([event('success', { finishedAt: at(60) }, [])], 'webhook', rules))
    move(rules.settle)
    const exportQueue = { destination: 'default', signal: 'traces' } as const
    await settlerOf(store, { clock: { now, sleep: async () => undefined } }).drain()
    move(2_000)
    const { token, items } = await store.outbox.lease(exportQueue, 10, 1_000)
    await store.outbox.settle(
      token,
      items.map(({ id }) => ({ id, as: 'delivered' as const })),
    )
    expect(await points('pipespan.export.latency')).toMatchObject([
      { attributes: exportQueue, value: { count: 1, sum: rules.settle / 1000 + 2 } },
    ])
  })
})

describe("the table of Pipespan's own metrics", () => {
  it('has one row per metric name, with a unit, a description, and the attributes that the metric uses', () => {
    expect(new Set(ownMetrics.map(({ name }) => name)).size).toBe(ownMetrics.length)
    for (const { name, unit, description: description } of ownMetrics) {
      expect(name).toMatch(/^pipespan(\.[a-z_]+)+$/)
      expect(unit, name).toMatch(/^(1|s|By|\{[a-z]+\})$/)
      expect(description, name).toMatch(/^[A-Z1].*\.$/)
    }
    const counters = { delivered: 1, repeated: 1, rejected: 1, later: 1, partiallyRejected: 1, lost: 1 }
    const exportQueue = {
      destination: 'default',
      signal: 'traces' as const,
      state: 'closed' as const,
      pending: 1,
      putOff: 0,
      dead: 1,
      counters,
    }
    const refused = { size: 1 } as never
    const counting = <Counters>(all: Counters) => ({ counters: all })
    const observed = {
      now: 5_000,
      ingress: { counts: { received: 3, accepted: 1, duplicate: 1, ignored: { push: 1 }, refused } },
      intake: counting({
        ...{ events: 1, unclaimedEvents: 0, processed: 1, ignored: 1, unparseable: 1 },
        ...{ excluded: 1, droppedJobs: 1, unknownStatuses: 1 },
      }),
      snapshotter: counting({ attempts: 4, supplements: 1, blocked: 1, stale: 1, excluded: 1, unrouted: 1 }),
      settleLoop: counting({ postponed: 1 }),
      reloads: { applied: 1, refused: 1 },
      queues: [exportQueue],
      quarantined: 1,
      runs: { runs: 5, onlyJobs: 1, open: 2 },
      counters: new Map([['pruned.runs', 3]]),
      fullness: 0.5,
      isInPlace: true,
      damagedRows: 1,
      budgets: [{ platform: 'default', perMinute: 1, available: 1, pausedFor: 1_000 }],
      enricher: counting({ completed: 1, missed: 1, gone: 1, failed: 1 }),
      poller: counting({ rounds: 1, requests: 1, discovered: 1 }),
      redelivery: counting({ found: 1, accepted: 1, oversize: 1 }),
      counted: new Map<string, never[]>(),
      scrapes: { leftOut: 4 },
    }
    for (const { name, attributes, points: pointsOf } of observedMetrics) {
      const points = pointsOf(observed)
      expect(points.length, name).toBeGreaterThan(0)
      for (const point of points) {
        const used = 'attributes' in point ? Object.keys(point.attributes ?? {}) : []
        expect(attributes, name).toEqual(expect.arrayContaining(used))
      }
    }
  })
})
