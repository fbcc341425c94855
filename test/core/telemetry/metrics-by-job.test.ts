// Tests the metrics of durations by job name, and of the newest pipeline's result.
import { describe, expect, it } from 'vitest'
import { added, type Amount } from '../../../src/model/totals.ts'
import { at, event, job } from '../../flow/world.ts'
import { createSeriesCap } from '../../../src/core/telemetry/metrics/delta.ts'
import { decodeMetrics, type ReceivedMetric } from '../../support/otlp-decode.ts'
import { encodeMetrics } from '../../../src/core/telemetry/encode.ts'
import { groupNameOf } from '../../../src/model/job.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { observedRun } from '../../../src/model/run.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { telemetrySettings, type TelemetryOptions } from '../../../src/core/telemetry/settings.ts'
import { results } from '../../../src/core/telemetry/mapping/statuses.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const byJob = 'platform.cicd.pipeline.task.run.duration'
const newest = 'platform.cicd.pipeline.run.latest'

interface Ran {
  readonly names: readonly string[]
  readonly facts?: Parameters<typeof event>[3]
  readonly status?: string
  readonly finishedAt?: number
  readonly defaultBranch?: string
}

function pipeline({ names, facts, status = 'success', finishedAt = at(60), defaultBranch = 'main' }: Ran): Chunk[] {
  const jobs = names.map((name, index) => job(index + 1, name, 'success', { started: 1, finished: 11 }))
  const run = observedRun(event(status, { finishedAt }, jobs, facts))
  const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 7 }
  const { chunks } = snapshotAttempt(run, [...run.jobs.values()], trace, false, at(100), { chunkSize: 500 })
  return chunks.map(chunk => ({ ...chunk, project: { ...chunk.project, defaultBranch } }))
}

function points(
  chunks: readonly Chunk[],
  name: string,
  options: TelemetryOptions = {},
): ReceivedMetric['points'][number][] {
  const settings = telemetrySettings({ profiles, ...options })
  const metrics = decodeMetrics(encodeMetrics(chunks, settings))
  return metrics.filter(metric => metric.name === name).flatMap(metric => [...metric.points])
}

function names(all: readonly ReceivedMetric['points'][number][]): unknown[] {
  return all.map(({ attributes }) => attributes['cicd.pipeline.task.name'])
}

describe('job durations', () => {
  it.each([
    ['unit tests 2/3', 'unit tests'],
    ['build: [linux, 3.12]', 'build'],
    ['rspec: [a] 1/2', 'rspec'],
    ['deploy eu-1', 'deploy eu-1'],
    ['1/2', '1/2'],
  ])('counts the job %s under the name %s', (name, group) => {
    expect(groupNameOf(name)).toBe(group)
  })

  it('counts parallel jobs with the same result in one series', () => {
    const chunks = pipeline({ names: ['unit tests 1/2', 'unit tests 2/2', 'build: [linux, 3.12]'] })
    expect(points(chunks, byJob)).toMatchObject([
      {
        count: 2,
        sum: 20,
        attributes: {
          'cicd.pipeline.task.name': 'unit tests',
          'cicd.pipeline.task.run.result': 'success',
          'platform.vcs.ref.class': 'default',
        },
      },
      { count: 1, attributes: { 'cicd.pipeline.task.name': 'build' } },
    ])
  })

  it('measures job durations on the default branch, on all refs, or not at all, as configured', () => {
    const onDefault = pipeline({ names: ['lint'] })
    const onOther = pipeline({ names: ['lint'], defaultBranch: 'trunk' })
    const measured = (options: TelemetryOptions): number[] =>
      [onDefault, onOther].map(chunks => points(chunks, byJob, options).length)
    expect(measured({})).toEqual([1, 0])
    expect(measured({ jobMetrics: 'all' })).toEqual([1, 1])
    expect(measured({ jobMetrics: 'off' })).toEqual([0, 0])
  })

  it('keeps at most 200 job names per project with delta temporality: further jobs share one data point', () => {
    const settings = telemetrySettings({ profiles })
    const cap = createSeriesCap(2_000)
    const all = Array.from({ length: 250 }, (_, index) => `job ${index}x`)
    const reported = decodeMetrics(encodeMetrics(pipeline({ names: all }), settings, cap))
    const found = reported.filter(({ name }) => name === byJob).flatMap(metric => [...metric.points])
    expect(names(found)).toEqual([...all.slice(0, 200), '*'])
    expect(found.at(-1)).toMatchObject({ count: 50 })
  })
})

describe('the result of the newest pipeline', () => {
  it("exports 1 for the newest pipeline's result and 0 for all other results", () => {
    const values = points(pipeline({ names: ['lint'] }), newest)
    expect(
      Object.fromEntries(
        values.map(({ attributes, ...point }) => [
          attributes['cicd.pipeline.result'],
          (point as unknown as { value: number }).value,
        ]),
      ),
    ).toEqual({ success: 1, failure: 0, error: 0, timeout: 0, cancellation: 0, skip: 0 })
  })

  it('keeps the newest result when a child pipeline ends', () => {
    expect(points(pipeline({ names: ['lint'], facts: { source: 'parent_pipeline' } }), newest)).toEqual([])
  })

  it('keeps the newest result when an older pipeline ends later', () => {
    const settings = telemetrySettings({ profiles })
    const resultOf = (pipelineId: number, status: 'success' | 'failed', finishedAt: number): Amount => {
      const [chunk] = pipeline({ names: ['lint'], status, finishedAt })
      const { increments } = measure({ ...chunk!, key: { ...chunk!.key, pipelineId } }, settings)!
      return increments.find(({ metric }) => metric === newest)!.amount
    }
    const green = resultOf(8, 'success', at(60))
    const retriedRed = resultOf(7, 'failed', at(90))
    expect(added(green, retriedRed)).toMatchObject({ value: results.indexOf('success') })
    expect(added(retriedRed, green)).toMatchObject({ value: results.indexOf('success') })
  })
})
