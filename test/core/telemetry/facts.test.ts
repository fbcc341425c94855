// Tests the attributes that need no further requests, from the payload to the span. The expected values of the examples were computed by hand.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createPriceTable } from '../../../src/core/take-in/price-table.ts'
import { decodeMetrics, type ReceivedMetric } from '../../support/otlp-decode.ts'
import { encodeMetrics } from '../../../src/core/telemetry/encode.ts'
import { observedRun, type Run } from '../../../src/model/run.ts'
import { parseDelivery } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { shownSpans, type ShownSpan } from '../../../src/core/telemetry/shown-span.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'

type Wire = Record<string, Record<string, unknown>>

function payload(name: string): Wire {
  return JSON.parse(readFileSync(`test/fixtures/webhooks/${name}.json`, 'utf8')) as Wire
}

function runOf(body: unknown): Run {
  const parsed = parseDelivery(
    { body: Buffer.from(JSON.stringify(body)) },
    { profile: profiles.generic, traceparent: false },
  )
  if (parsed.outcome !== 'observation') throw new Error('the payload cannot be read')
  return observedRun(parsed.observation)
}

function pipelineOf(body: unknown): ShownSpan['attributes'] {
  const run = runOf(body)
  const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: run.key.pipelineId }
  const { chunks } = snapshotAttempt(run, [...run.jobs.values()], trace, false, 0, { chunkSize: 100 })
  return shownSpans(chunks[0]!, telemetrySettings({ profiles }))[0]!.attributes
}

describe('a merge request pipeline', () => {
  const body = payload('pipeline-merge-request')

  it.each([
    [{ title: '[Draft] x' }, 'wip'],
    [{ title: '(draft) x' }, 'wip'],
    [{ title: 'Draft x' }, 'open'],
    [{ title: 'x', draft: true }, 'wip'],
    [{ title: 'Draft: x', draft: false }, 'open'],
    [{ title: 'x', work_in_progress: true }, 'wip'],
    [{ title: 'Draft: x', state: 'merged' }, 'merged'],
  ])('maps a merge request with %j to the state %s', (fields, state) => {
    const request = { ...body.merge_request, ...fields }
    expect(pipelineOf({ ...body, merge_request: request })['vcs.change.state']).toBe(state)
  })

  it('sets no fork attribute if one of the two projects is unknown', () => {
    const { source_project_id: _, ...request } = body.merge_request!
    expect(pipelineOf({ ...body, merge_request: request })).not.toHaveProperty('platform.vcs.change.fork')
  })
})

describe('feedback time', () => {
  const body = payload('pipeline-merge-request')
  const reported = (commit: string, fields: object = {}): unknown =>
    pipelineOf({
      ...body,
      commit: { ...body.commit, timestamp: commit },
      object_attributes: { ...body.object_attributes, ...fields },
    })['platform.cicd.pipeline.run.feedback_time']

  it('measures feedback time from commit to finish in ms', () => {
    // The feedback time from 11:11:02+01:00 to 10:13:01 UTC.
    expect(reported('2025-03-11T11:11:02+01:00')).toBe(119_000)
    expect(reported('2025-03-11T10:13:01Z')).toBe(0)
  })

  it('reports no feedback time if the commit is dated in the future or if no author is waiting', () => {
    expect(reported('2025-03-11T10:13:02Z')).toBeUndefined()
    expect(reported('2025-03-11T10:11:02Z', { source: 'schedule' })).toBeUndefined()
    expect(reported('2025-03-11T10:11:02Z', { status: 'running', finished_at: null })).toBeUndefined()
  })
})

describe('job metrics', () => {
  const measured = (run: Run, chunkSize = 100, superseded?: true): ReceivedMetric[] => {
    const rateOf = createPriceTable([{ name: 'gpu', match: { tags: ['gpu'] }, perMinute: 0.5, factor: 2 }])
    const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: 1 }
    const { chunks } = snapshotAttempt(run, [...run.jobs.values()], trace, false, 0, { chunkSize, rateOf })
    const reported = chunks.map(chunk => ({ ...chunk, pipeline: { ...chunk.pipeline, superseded } }))
    return decodeMetrics(encodeMetrics(reported, telemetrySettings({ profiles, costUnit: 'EUR' })))
  }
  const pointsOf = (metrics: readonly ReceivedMetric[], name: string) =>
    metrics.filter(metric => metric.name === name).flatMap(metric => [...metric.points])
  const valueOf = (point: object): number => ('value' in point ? Number(point.value) : NaN)
  const gpu = { id: 1, runner_type: 'group_type', tags: ['linux', 'gpu'] }
  const shared = { id: 2, runner_type: 'instance_type', tags: ['linux', 'docker'] }
  const listed = (id: number, name: string, status: string, duration: number, fields: object = {}): object => ({
    ...{ id, name, status, duration, stage: 'test', queued_duration: 4 },
    ...{ started_at: '2025-03-11 10:12:00 UTC', finished_at: '2025-03-11 10:12:30 UTC' },
    ...fields,
  })
  const body = payload('pipeline-merge-request')
  const builds = [
    listed(1, 'unit', 'failed', 30, { runner: shared, failure_reason: 'script_failure' }),
    listed(2, 'unit', 'success', 30, { runner: shared }),
    listed(3, 'train', 'success', 90, { runner: gpu, queued_duration: 61 }),
    listed(4, 'eval', 'success', 30, { runner: gpu }),
    listed(5, 'docs', 'failed', 12, { runner: shared, failure_reason: 'runner_system_failure' }),
    listed(6, 'slow', 'canceled', 9, { runner: shared }),
  ]

  it.each([100, 2])('measures the jobs of a pipeline correctly if it is split into chunks of %i jobs', chunkSize => {
    const reported = measured(runOf({ ...body, builds }), chunkSize)
    const sums = new Map<string, number>()
    const names = ['worker.type', 'compute.rate', 'pipeline.task.run.result', 'compute.purpose']
    for (const point of pointsOf(reported, 'platform.cicd.compute.time')) {
      const of = (name: string): unknown =>
        point.attributes[`platform.cicd.${name}`] ?? point.attributes[`cicd.${name}`]
      const key = names.map(name => String(of(name))).join(' ')
      sums.set(key, (sums.get(key) ?? 0) + valueOf(point))
    }
    expect(Object.fromEntries(sums)).toEqual({
      'instance_type unpriced failure retried': 30,
      'instance_type unpriced success useful': 30,
      'group_type gpu success useful': 120,
      'instance_type unpriced error failed': 12,
      'instance_type unpriced cancellation useful': 9,
    })
    // The expected cost is two minutes at a price of 0.5 per minute, with a factor of 2.
    const cost = pointsOf(reported, 'platform.cicd.compute.cost')
    expect(cost.reduce((sum, point) => sum + valueOf(point), 0)).toBe(2)
    expect(reported.find(({ name }) => name === 'platform.cicd.compute.cost')!.unit).toBe('EUR')
    expect(pointsOf(reported, 'cicd.system.errors')).toMatchObject([
      { value: 1, attributes: { 'cicd.system.component': 'runner', 'error.type': 'runner_system_failure' } },
    ])
  })

  it('separates queues by runner type and tags', () => {
    const reported = pointsOf(measured(runOf({ ...body, builds })), 'platform.cicd.pipeline.task.run.queued_duration')
    expect(reported).toMatchObject([
      {
        attributes: { 'platform.cicd.worker.type': 'instance_type', 'platform.cicd.worker.tag_set': 'docker,linux' },
        ...{ count: 4, sum: 16 },
      },
      {
        attributes: { 'platform.cicd.worker.type': 'group_type', 'platform.cicd.worker.tag_set': 'gpu,linux' },
        ...{ count: 2, sum: 65 },
      },
    ])
    const tags = Array.from({ length: 40 }, (_, index) => `tag-${index}`)
    const many = [listed(1, 'unit', 'success', 30, { runner: { ...shared, tags } })]
    const [point] = pointsOf(
      measured(runOf({ ...body, builds: many })),
      'platform.cicd.pipeline.task.run.queued_duration',
    )
    expect(point!.attributes['platform.cicd.worker.tag_set']).toBe('*')
  })

  it("counts a canceled job's time as superseded if a newer pipeline of the same ref existed", () => {
    const reported = pointsOf(
      measured(runOf({ ...body, builds: builds.slice(5) }), 100, true),
      'platform.cicd.compute.time',
    )
    expect(reported).toMatchObject([{ value: 9, attributes: { 'platform.cicd.compute.purpose': 'superseded' } }])
  })

  it("exports the feedback time as a metric, and uses the project's name for a pipeline without a name", () => {
    const commit = { ...body.commit, timestamp: '2025-03-11T10:11:02Z' }
    const named = measured(runOf({ ...body, commit }))
    expect(pointsOf(named, 'platform.cicd.pipeline.feedback_time')).toMatchObject([
      { sum: 119, attributes: { 'cicd.pipeline.name': 'Merge request checks', 'vcs.ref.head.type': 'branch' } },
    ])
    const nameless = measured(runOf({ ...body, commit, object_attributes: { ...body.object_attributes, name: null } }))
    for (const name of ['platform.cicd.pipeline.feedback_time', 'cicd.pipeline.run.count']) {
      expect(pointsOf(nameless, name)[0]!.attributes['cicd.pipeline.name']).toBe('acme/shop/checkout')
    }
  })
})
