// Tests how snapshots become metrics, and properties that hold for any reported values. The golden files cover complete scenarios
// (`requests.test.ts`).
import fc from 'fast-check'
import { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer'
import { describe, expect, it } from 'vitest'
import { decodeMetrics, type ReceivedMetric } from '../../support/otlp-decode.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { observedRun } from '../../../src/model/run.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings, type TelemetryOptions } from '../../../src/core/telemetry/settings.ts'
import { encodeMetrics, encodeResourceMetrics } from '../../../src/core/telemetry/encode.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { resourceMetrics } from '../../../src/core/telemetry/metrics/data.ts'
import { sdkMetrics } from './sdk.ts'
import { activeData, projectResource, toCumulative } from '../../../src/core/telemetry/metrics/cumulative.ts'
import { toDelta, createSeriesCap } from '../../../src/core/telemetry/metrics/delta.ts'
import { attemptMetrics } from '../../../src/core/telemetry/mapping/metrics.ts'
import { costUnit } from '../../../src/core/telemetry/mapping/metric-row.ts'
import { at, event, job } from '../../flow/world.ts'
import { anyChunk } from './arbitraries.ts'
import { stories } from './stories.ts'
import type { ResourceMetrics } from '../../../src/core/telemetry/otlp/messages.ts'
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

describe('a pipeline with delta temporality', () => {
  it('measures each job of a pipeline once, whichever chunk contains it', () => {
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

  it('merges data points that became equal because an attribute was dropped', () => {
    const reported = received(stories.success!, { drop: ['job.stage'] })
    expect(points(reported, 'job.duration_seconds')).toMatchObject([{ count: 5 }])
  })

  it('uses the configured buckets, which include their upper bounds', () => {
    const reported = received(stories.success!, { histogramBounds: [12, 93] })
    expect(points(reported, 'job.duration_seconds')).toMatchObject([
      { attributes: { 'job.stage': 'build' }, bounds: [12, 93], counts: [1, 1, 0] },
      { attributes: { 'job.stage': 'test' }, bounds: [12, 93], counts: [0, 1, 1] },
      { attributes: { 'job.stage': 'deploy' }, bounds: [12, 93], counts: [0, 1, 0] },
    ])
  })

  it('uses the overflow series once the metric has reached its maximum number of series', () => {
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
  ])('exports the ref of the story %s under the ref patterns %j as %s', (story, metricRefs, ref) => {
    expect(refOf(story, { metricRefs })).toBe(ref)
  })
})

describe('metrics of arbitrary observations', () => {
  it('exports no series twice, no run ID in a data point, and only metrics from the table', () => {
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
  it('links a total to the latest pipeline through its exemplar, in whatever order the total is added up', () => {
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

describe('encoded metrics', () => {
  it('encodes metrics with the same bytes as the official serializer, delta and cumulative', () => {
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
        const counts = activeData({ ...project, since: at(0), runs, jobs }, at(60), settings)
        const active = resourceMetrics(projectResource(project, settings), counts)
        for (const message of [toDelta(chunk, settings), cumulative, active]) {
          if (message === undefined) continue
          // The official serializer does not support exemplars.
          const plain = withoutExemplars(message)
          const official = ProtobufMetricsSerializer.serializeRequest(sdkMetrics(plain))!
          expect(Buffer.from(encodeResourceMetrics([plain])).equals(Buffer.from(official))).toBe(true)
        }
      }),
      { numRuns: 200 },
    )
  })
})
