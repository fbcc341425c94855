// A metrics request has one data point per series and timestamp, however many pipelines ended at that time. Its sums equal those of one request per
// pipeline.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyChunk } from './arbitraries.ts'
import { decodeMetrics, type ReceivedMetric } from '../../support/otlp-decode.ts'
import { encodeMetrics, joinMetrics } from '../../../src/core/telemetry/encode.ts'
import { createSeriesCap } from '../../../src/core/telemetry/metrics/delta.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const settings = telemetrySettings({ profiles, jobMetrics: 'all' })
const ended = Date.UTC(2026, 2, 2, 9)
const trace: Chunk['trace'] = { scheme: 'instance', profile: 'generic', rootPipelineId: 1 }

/** Chunks from few projects and refs that end within a millisecond or two. */
const alike = fc
  .tuple(
    anyChunk,
    fc.constantFrom(1, 2),
    fc.constantFrom('main', 'next'),
    fc.constantFrom('success', 'failed'),
    fc.constantFrom(ended, ended + 0.6, ended + 1),
  )
  .map(([chunk, project, ref, status, end]): Chunk => ({
    ...{ ...chunk, trace, project: { id: project, path: `acme/${project}`, defaultBranch: 'main' } },
    pipeline: { ...chunk.pipeline, start: ended - 60_000, end, facts: { status, ref, source: 'push', duration: 7 } },
    jobs: chunk.jobs.map(job => ({ ...job, ...{ name: 'test', stage: 'test', start: ended - 5_000, end: ended } })),
  }))

const seriesOf = ({ name, resource }: ReceivedMetric, attributes: object): string =>
  JSON.stringify([name, resource.attributes, attributes])

/** Returns the sum over all data points of each series. */
function sums(requests: readonly (readonly ReceivedMetric[])[]): Map<string, unknown> {
  const found = new Map<string, { value: number; counts: number[]; exemplars: string[]; range: number[] }>()
  for (const metric of requests.flat()) {
    if (metric.kind === 'gauge') continue
    for (const point of metric.points) {
      const key = seriesOf(metric, point.attributes)
      const known = found.get(key) ?? { value: 0, counts: [], exemplars: [], range: [Infinity, -Infinity] }
      const counts = 'counts' in point ? point.counts : []
      found.set(key, {
        value: known.value + Number(('sum' in point ? point.sum : point.value) ?? 0),
        counts: counts.map((count, at) => Number(count) + (known.counts[at] ?? 0)),
        exemplars: [...known.exemplars, ...point.exemplars.map(one => `${one.traceId} ${one.spanId}`)].sort(),
        range:
          'min' in point
            ? [Math.min(known.range[0]!, point.min ?? NaN), Math.max(known.range[1]!, point.max ?? NaN)]
            : known.range,
      })
    }
  }
  return found
}

/** A successful pipeline that takes `duration` seconds. All of these end at the same time. */
const chunk = (pipelineId: number, duration: number): Chunk => ({
  ...{ key: { instance: 'https://git.example.com', pipelineId }, attempt: 1, number: 1 },
  ...{ kind: 'attempt', trace, project: { id: 1, path: 'acme/1' }, jobs: [] },
  pipeline: {
    ...{ facts: { status: 'success', ref: 'main', duration }, start: ended - duration * 1_000, end: ended },
    ...{ incomplete: false, failures: [], jobCount: 0 },
  },
})

describe('delta metrics of several pipelines in one request', () => {
  it('has one data point per series and timestamp, with the same sums, buckets and exemplars as separate requests', () => {
    fc.assert(
      fc.property(fc.array(alike, { minLength: 1, maxLength: 6 }), chunks => {
        const cap = createSeriesCap(10)
        const apart = chunks.map(chunk => decodeMetrics(encodeMetrics([chunk], settings, cap)))
        const requests = chunks.map(chunk => encodeMetrics([chunk], settings, cap))
        const together = decodeMetrics(joinMetrics(requests))
        const points = together.flatMap(metric =>
          metric.points.map(point => `${seriesOf(metric, point.attributes)} ${point.nanos}`),
        )
        expect(points.length - new Set(points).size).toBe(0)
        const [expected, found] = [sums(apart), sums([together])]
        expect([...found.keys()].sort()).toEqual([...expected.keys()].sort())
        for (const [series, one] of found) {
          const { value, ...rest } = one as { value: number }
          const { value: sum, ...others } = expected.get(series) as { value: number }
          expect(rest).toEqual(others)
          if (Number.isFinite(sum)) expect(Math.abs(value - sum)).toBeLessThanOrEqual(Math.abs(sum) * 1e-9)
        }
      }),
    )
  })

  it('keeps the last value of a gauge', () => {
    const found = decodeMetrics(joinMetrics([chunk(1, 5), chunk(2, 9)].map(one => encodeMetrics([one], settings))))
    const gauge = found.filter(({ name }) => name === 'pipeline.duration_seconds')
    expect(gauge.map(({ points }) => points.map(({ value }: { value?: unknown }) => value))).toEqual([[9]])
    const count = found.filter(({ name }) => name === 'pipeline.status_total')
    expect(count.map(({ points }) => points.map(({ value }: { value?: unknown }) => value))).toEqual([[2]])
  })

  it('keeps histogram points apart whose bounds differ, because the configuration has changed meanwhile', () => {
    const before = telemetrySettings({ profiles, jobMetrics: 'all', histogramBounds: [1, 6] })
    const requests = [encodeMetrics([chunk(1, 5)], before), encodeMetrics([chunk(2, 9)], settings)]
    const [histogram] = decodeMetrics(joinMetrics(requests)).filter(({ kind }) => kind === 'histogram')
    expect(histogram?.points.map(point => 'counts' in point && point.counts.map(Number))).toEqual([
      [0, 1, 0],
      expect.toSatisfy((counts: number[]) => counts.length > 3 && counts.includes(1)),
    ])
  })
})
