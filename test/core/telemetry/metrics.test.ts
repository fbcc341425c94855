// How snapshots look as metrics: golden files of whole stories in delta, and what must hold whatever is reported.
import fc from 'fast-check'
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer'
import { describe, expect, it } from 'vitest'
import { decodeMetrics, type ReceivedMetric } from '../../support/otlp-metrics.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { observedRun } from '../../../src/model/run.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings, type TelemetryOptions } from '../../../src/core/telemetry/settings.ts'
import { encodeMetrics, encodeResourceMetrics, metricsAsJson } from '../../../src/core/telemetry/encode.ts'
import { attributesFrom } from '../../../src/core/telemetry/otlp/attribute.ts'
import { measure } from '../../../src/core/telemetry/metrics/measure.ts'
import { sdkMetrics } from './sdk.ts'
import { toActive, toCumulative } from '../../../src/core/telemetry/metrics/cumulative.ts'
import { toDelta, createSeriesCap } from '../../../src/core/telemetry/metrics/delta.ts'
import { attemptMetrics, costUnit } from '../../../src/core/telemetry/mapping/metrics.ts'
import { at, event, job } from '../../flow/world.ts'
import { anyChunk } from './arbitraries.ts'
import { readable } from './golden.ts'
import { stories } from './stories.ts'
import type { NumberPoint, ResourceMetrics } from '../../../src/core/telemetry/otlp/messages.ts'
import { added, type Amount } from '../../../src/model/totals.ts'
import { toSpans } from '../../../src/core/telemetry/traces.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const settings = telemetrySettings({ profiles })

function received(chunks: readonly Chunk[], options: TelemetryOptions = {}): ReceivedMetric[] {
  return decodeMetrics(encodeMetrics(chunks, telemetrySettings({ profiles, ...options })))
}

function points(metrics: readonly ReceivedMetric[], name: string) {
  return metrics.filter(metric => metric.name === name).flatMap(metric => [...metric.points])
}

describe('the delta metrics of whole stories', () => {
  for (const [name, chunks] of Object.entries(stories)) {
    it(`are as the golden file shows: ${name}`, async () => {
      const reported = chunks.flatMap(chunk => toDelta(chunk, settings) ?? [])
      await expect(readable(metricsAsJson(reported))).toMatchFileSnapshot(`../../golden/metrics/${name}.json`)
    })
  }
})

describe('a pipeline with delta temporality', () => {
  it('has its points at the time it ended', () => {
    for (const { points: all } of received(stories.success!)) {
      for (const { time, start } of all) expect([time, start]).toEqual([Date.UTC(2026, 2, 2, 9, 4, 10), time - 1])
    }
  })

  it('counts the second attempt with its own status, duration and jobs', () => {
    const second = received(stories.retry!.filter(({ attempt }) => attempt === 2))
    expect(points(second, 'pipeline.status_total')).toMatchObject([
      { value: 1, attributes: { 'pipeline.status': 'success' } },
    ])
    // From its first job at 1:10:02 to its end at 1:15:00; the platform says 320, which adds both attempts up.
    expect(points(second, 'pipeline.duration_seconds')).toMatchObject([{ value: 298 }])
    expect(points(second, 'pipeline.jobs_total')).toMatchObject([{ value: 3, integer: true }])
    expect(points(second, 'pipeline.queue_duration_seconds')).toEqual([])
    expect(points(second, 'job.duration_seconds')).toMatchObject([
      { attributes: { 'job.stage': 'deploy' }, count: 1, sum: 70 },
      { attributes: { 'job.stage': 'test' }, count: 2, sum: 135 },
    ])
  })

  it('adds only the metrics of the job for a supplement', () => {
    const late = stories.supplement!.filter(({ kind }) => kind === 'supplement')
    expect(late).toHaveLength(1)
    // The bridge beside it ran nowhere.
    const reported = received(late)
    expect(reported.map(({ name }) => name)).toEqual([
      'platform.cicd.compute.time',
      'platform.cicd.pipeline.task.run.duration',
    ])
    expect(points(reported, 'platform.cicd.compute.time')).toMatchObject([
      {
        value: 20,
        attributes: {
          'platform.cicd.compute.rate': 'unpriced',
          'cicd.pipeline.task.run.result': 'failure',
          'platform.cicd.compute.purpose': 'retried',
        },
      },
    ])
    const [first] = received(stories.supplement!.filter(({ kind }) => kind === 'attempt'))
    expect(reported[0]!.points[0]!.time).toBeGreaterThan(first!.points[0]!.time)
  })

  it('measures the jobs of all its chunks, once', () => {
    const jobs = Array.from({ length: 5 }, (_, index) =>
      job(index + 1, index < 3 ? 'build' : 'test', 'success', { started: 1, finished: 11 + index }),
    )
    const run = observedRun(event('success', { finishedAt: at(60) }, jobs))
    const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 7 }
    const { chunks } = snapshotAttempt(run, [...run.jobs.values()], trace, false, at(100), { chunkSize: 2 })
    expect(chunks).toHaveLength(3)
    const reported = received(chunks)
    expect(points(reported, 'pipeline.status_total')).toHaveLength(1)
    expect(points(reported, 'job.duration_seconds')).toMatchObject([
      { attributes: { 'job.stage': 'build' }, count: 3, sum: 33, bounds: settings.histogramBounds },
      { attributes: { 'job.stage': 'test' }, count: 2, sum: 27 },
    ])
  })

  it('joins points that are equal after an attribute was dropped', () => {
    const reported = received(stories.success!, { drop: ['job.stage'] })
    expect(points(reported, 'job.duration_seconds')).toMatchObject([{ count: 5 }])
  })

  it('has the configured buckets, which include their upper bounds', () => {
    const reported = received(stories.success!, { histogramBounds: [12, 93] })
    expect(points(reported, 'job.duration_seconds')).toMatchObject([
      { attributes: { 'job.stage': 'build' }, bounds: [12, 93], counts: [1, 1, 0] },
      { attributes: { 'job.stage': 'test' }, bounds: [12, 93], counts: [0, 1, 1] },
      { attributes: { 'job.stage': 'deploy' }, bounds: [12, 93], counts: [0, 1, 0] },
    ])
  })

  it('counts in the overflow series when its metric has the maximum of series', () => {
    const cap = createSeriesCap(2)
    const reported = (story: string) => decodeMetrics(encodeMetrics(stories[story]!.slice(0, 1), settings, cap))
    const attributesOf = (metrics: ReceivedMetric[]) => points(metrics, 'pipeline.status_total')[0]!.attributes
    expect(attributesOf(reported('success'))).toEqual({ 'pipeline.status': 'success', 'pipeline.ref': 'main' })
    expect(attributesOf(reported('canceled'))).toEqual({ 'otel.metric.overflow': true })
    expect(attributesOf(reported('success'))).toEqual({ 'pipeline.status': 'success', 'pipeline.ref': 'main' })
  })
})

describe('refs in metrics', () => {
  const refOf = (story: string, options: TelemetryOptions) =>
    points(received(stories[story]!.slice(0, 1), options), 'pipeline.status_total')[0]!.attributes['pipeline.ref']

  it.each<[string, TelemetryOptions['metricRefs'], string]>([
    ['success', undefined, 'main'],
    ['merge-request', undefined, 'refs/merge-requests/*'],
    ['linked', undefined, 'v2.4.0'],
    ['merge-request', 'all', 'round-totals'],
    ['success', 'default', 'main'],
    ['linked', 'default', '*'],
    ['merge-request', 'default', 'refs/merge-requests/*'],
    ['success', ['release/*', 'v*'], '*'],
    ['linked', ['release/*', 'v*'], 'v2.4.0'],
    ['merge-request', ['**'], 'refs/merge-requests/*'],
  ])('%s under %j is %s', (story, metricRefs, ref) => {
    expect(refOf(story, { metricRefs })).toBe(ref)
  })
})

describe('whatever is observed', () => {
  it("no series occurs twice, no point has a run's id, and every metric is in the table", () => {
    const known = new Map(attemptMetrics.map(row => [row.name.replace(/^platform\./, ''), row]))
    fc.assert(
      fc.property(anyChunk, chunk => {
        for (const metric of received([chunk])) {
          const row = known.get(metric.name.replace(/^(platform|gitlab)\./, ''))
          const unit = row?.unit === costUnit ? settings.costUnit : row?.unit
          expect([unit, row?.description]).toEqual([metric.unit, metric.description])
          const series = metric.points.map(({ attributes }) => JSON.stringify(attributes))
          expect(new Set(series).size).toBe(series.length)
          for (const point of metric.points) {
            expect(Object.keys(point.attributes).filter(key => /(\.run)?\.id$/.test(key))).toEqual([])
            expect(point.nanos > 0n && point.startNanos <= point.nanos).toBe(true)
          }
        }
      }),
    )
  })

  it('the bytes of two chunks are the bytes of each, one after the other', () => {
    fc.assert(
      fc.property(anyChunk, anyChunk, (a, b) => {
        const apart = Buffer.concat([encodeMetrics([a], settings), encodeMetrics([b], settings)])
        expect(Buffer.from(encodeMetrics([a, b], settings)).equals(apart)).toBe(true)
      }),
    )
  })
})

function withoutExemplars(message: ResourceMetrics): ResourceMetrics {
  return without(message, 'exemplars') as ResourceMetrics
}

function without(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map(item => without(item, name))
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const others = Object.entries(value).filter(([key]) => key !== name)
  return Object.fromEntries(others.map(([key, inner]) => [key, without(inner, name)]))
}

describe('exemplars', () => {
  const span = toSpans(stories.success![0]!, settings)[0]!
  const own = { traceId: span.traceId, spanId: span.spanId, nanos: BigInt(span.endTimeUnixNano) * 1_000_000n }

  it('point from counters and histograms to the span of the pipeline, and are on no gauge', () => {
    for (const { name, points: all } of received(stories.success!)) {
      const isGauge = attemptMetrics.some(row => row.type === 'gauge' && row.name === name)
      for (const point of all) {
        const { exemplars } = point as { exemplars: readonly unknown[] }
        if (isGauge) expect(exemplars).toEqual([])
        else expect(exemplars).toMatchObject([own])
      }
    }
    expect(points(received(stories.success!), 'cicd.pipeline.run.count')).toMatchObject([{ exemplars: [{ value: 1 }] }])
    // Of jobs of 93 and 123 seconds the longer.
    expect(points(received(stories.success!), 'job.duration_seconds')).toMatchObject([
      { exemplars: [{ value: 58.35 }] },
      { exemplars: [{ value: 123 }] },
      { exemplars: [{ value: 61.2 }] },
    ])
  })

  it('point to the latest pipeline of a total, in any order of adding up', () => {
    const amounts = ['success', 'linked'].map(story => {
      const { increments } = measure(stories[story]![0]!, settings)!
      return increments.find(({ metric }) => metric === 'pipeline.status_total')!.amount
    }) as [Amount, Amount]
    const latest = toSpans(stories.linked![0]!, settings)[0]!
    for (const total of [added(amounts[0], amounts[1]), added(amounts[1], amounts[0])]) {
      const series = [{ metric: 'pipeline.status_total', attributes: '{}', amount: total, startedAt: at(0) }]
      const project = {
        key: { instance: 'https://git.example.com', projectId: 42 },
        project: { id: 42 },
        profile: 'generic',
      }
      const message = toCumulative({ ...project, series }, at(200), settings)!
      const [metric] = decodeMetrics(encodeResourceMetrics([message]))
      expect(metric!.points).toMatchObject([
        { value: 2, exemplars: [{ value: 1, traceId: latest.traceId, spanId: latest.spanId }] },
      ])
    }
    const before: Amount = { kind: 'sum', by: 4 }
    expect(added(before, { kind: 'sum', by: 1 })).toEqual({ kind: 'sum', by: 5 })
  })
})

describe('the bytes of metrics', () => {
  it('equal those of the official serializer, delta and cumulative', () => {
    fc.assert(
      fc.property(anyChunk, fc.constantFrom('generic', 'gitlab'), (chunk, profile) => {
        const measured = measure(chunk, settings)
        const totals = measured && {
          ...measured,
          profile,
          series: measured.increments.map(increment => ({ ...increment, startedAt: at(0) })),
        }
        const cumulative = totals && toCumulative(totals, at(60), settings)
        const project = { key: { instance: 'https://git.example.com', projectId: 42 }, project: chunk.project, profile }
        const runs = [{ ...project, name: 'build', status: 'running', count: 3 }]
        const jobs = [{ ...project, state: 'pending' as const, tagSet: 'gpu', count: 2, oldest: at(7) }]
        const active = toActive({ ...project, since: at(0), runs, jobs }, at(60), settings)
        for (const message of [toDelta(chunk, settings), cumulative, active]) {
          if (message === undefined) continue
          // The official serializer knows no exemplars.
          const plain = withoutExemplars(message)
          const official = ProtobufMetricsSerializer.serializeRequest(sdkMetrics(plain))!
          expect(Buffer.from(encodeResourceMetrics([plain])).equals(Buffer.from(official))).toBe(true)
        }
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    ['a gauge', (point: NumberPoint) => ({ gauge: { dataPoints: [point] } })],
    ['a sum', (point: NumberPoint) => ({ sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: [point] } })],
    [
      'a histogram',
      ({ asInt, ...point }: NumberPoint) => {
        const buckets = { count: 1, sum: asInt!, bucketCounts: [0, 1], explicitBounds: [5] }
        return { histogram: { aggregationTemporality: 1, dataPoints: [{ ...point, ...buckets }] } }
      },
    ],
  ])('include the exemplars of %s', (_what, data) => {
    const time = { startTimeUnixNano: at(0), timeUnixNano: at(9) }
    const span = { timeUnixNano: at(5), traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) }
    const exemplars = [
      { ...span, asInt: 7, filteredAttributes: attributesFrom({ branch: 'main' }) },
      { timeUnixNano: at(6), asDouble: 0.5, filteredAttributes: [] },
    ]
    const metric = {
      ...{ name: 'runs', description: 'Runs.', unit: '{run}' },
      ...data({ ...time, asInt: 7, exemplars, attributes: [] }),
    }
    const [metrics] = stories.success!.flatMap(chunk => toDelta(chunk, settings) ?? [])
    const message = { ...metrics!, scopeMetrics: [{ ...metrics!.scopeMetrics[0]!, metrics: [metric] }] }
    const [decoded] = decodeMetrics(encodeResourceMetrics([message]))
    const nanos = (millis: number) => BigInt(millis) * 1_000_000n
    const received = [
      {
        ...{ value: 7, nanos: nanos(at(5)), traceId: span.traceId, spanId: span.spanId },
        attributes: { branch: 'main' },
      },
      { value: 0.5, nanos: nanos(at(6)), traceId: undefined, spanId: undefined, attributes: {} },
    ]
    expect(decoded!.points).toMatchObject([{ exemplars: received }])
  })
})
