// What costs nothing to know of a pipeline and its jobs: attributes by hand-computed examples, from the wire to the span.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createPriceTable } from '../../../src/core/take-in/price-table.ts'
import { decodeMetrics, type ReceivedMetric } from '../../support/otlp-metrics.ts'
import { encodeMetrics } from '../../../src/core/telemetry/encode.ts'
import { changeStateOf } from '../../../src/core/telemetry/mapping/statuses.ts'
import { meaningOf } from '../../../src/core/telemetry/mapping/failure-reasons.ts'
import { normalizeRest } from '../../../src/platform/rest/observation.ts'
import { observedRun, mergeRun, type Run } from '../../../src/model/run.ts'
import { parseDelivery } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { restJob } from '../../../src/platform/rest/jobs.ts'
import { shownSpans, type ShownSpan } from '../../../src/core/telemetry/shown-span.ts'
import { snapshotAttempt } from '../../../src/model/snapshot.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import { toSpans } from '../../../src/core/telemetry/traces.ts'
import { userKindOf } from '../../../src/core/telemetry/mapping/pipeline.ts'
import type { Chunk } from '../../../src/model/chunk.ts'

const settings = telemetrySettings({ profiles })

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

function chunksOf(run: Run, chunkSize = 100): readonly Chunk[] {
  const trace = { scheme: 'instance' as const, profile: 'generic', rootPipelineId: run.key.pipelineId }
  return snapshotAttempt(run, [...run.jobs.values()], trace, false, 0, { chunkSize }).chunks
}

function spansOf(run: Run, chunkSize?: number): ShownSpan[] {
  return chunksOf(run, chunkSize).flatMap(chunk => shownSpans(chunk, settings))
}

function pipelineOf(body: unknown): ShownSpan['attributes'] {
  return spansOf(runOf(body))[0]!.attributes
}

describe('a merge request pipeline', () => {
  const body = payload('pipeline-merge-request')

  it('has its target and its source', () => {
    expect(pipelineOf(body)).toMatchObject({
      'vcs.ref.base.name': 'main',
      'vcs.ref.base.type': 'branch',
      'vcs.change.state': 'open',
      'platform.vcs.change.source.branch': 'pay-once',
      'platform.vcs.change.url.full': 'https://git.example.com/acme/shop/checkout/-/merge_requests/208',
      'platform.vcs.change.fork': false,
      'platform.cicd.pipeline.user.kind': 'human',
    })
  })

  it('is marked as coming from a fork and as a draft', () => {
    const request = { ...body.merge_request, title: 'Draft: Charge the card once', source_project_id: 777 }
    expect(pipelineOf({ ...body, merge_request: request })).toMatchObject({
      'vcs.change.state': 'wip',
      'platform.vcs.change.fork': true,
    })
  })

  it.each([
    [{ title: '[Draft] x' }, 'wip'],
    [{ title: '(draft) x' }, 'wip'],
    [{ title: 'Draft x' }, 'open'],
    [{ title: 'x', draft: true }, 'wip'],
    [{ title: 'Draft: x', draft: false }, 'open'],
    [{ title: 'x', work_in_progress: true }, 'wip'],
    [{ title: 'Draft: x', state: 'merged' }, 'merged'],
  ])('with %j is %s', (fields, state) => {
    const request = { ...body.merge_request, ...fields }
    expect(pipelineOf({ ...body, merge_request: request })['vcs.change.state']).toBe(state)
  })

  it('has no fork attribute if one of the two projects is unknown', () => {
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

  it('is the time from the commit to the finish in ms', () => {
    // 10:13:01 UTC less 11:11:02+01:00.
    expect(reported('2025-03-11T11:11:02+01:00')).toBe(119_000)
    expect(reported('2025-03-11T10:13:01Z')).toBe(0)
  })

  it('is absent if the commit is from the future or if no author waits', () => {
    expect(reported('2025-03-11T10:13:02Z')).toBeUndefined()
    expect(reported('2025-03-11T10:11:02Z', { source: 'schedule' })).toBeUndefined()
    expect(reported('2025-03-11T10:11:02Z', { status: 'running', finished_at: null })).toBeUndefined()
  })

  it('is exported with the time of the commit in Unix ns', () => {
    const at = Date.parse('2025-03-11T10:11:02Z')
    const commit = { ...body.commit, timestamp: '2025-03-11T11:11:02+01:00' }
    expect(pipelineOf({ ...body, commit })['platform.cicd.pipeline.run.committed_at']).toBe(at * 1e6)
  })
})

describe('a pipeline whose configuration was refused', () => {
  it('has the reason as an attribute and as the message of its status', () => {
    const body = payload('pipeline-no-jobs')
    const why = 'jobs:unit config contains unknown keys: scrpt'
    const run = runOf({ ...body, object_attributes: { ...body.object_attributes, status: 'failed', yaml_errors: why } })
    const [span] = toSpans(chunksOf(run)[0]!, settings)
    expect(span!.status).toEqual({ code: 2, message: why })
    expect(spansOf(run)[0]!.attributes['platform.cicd.pipeline.run.yaml_errors']).toBe(why)
  })
})

describe('who started a pipeline', () => {
  it.each([
    ['ada', 'human'],
    ['project_42_bot', 'bot'],
    ['project_42_bot_5e1f', 'bot'],
    ['group_7_bot_x', 'bot'],
    ['service_account_group_3_ab', 'service_account'],
    ['my_project_42_bot', 'human'],
    ['service_accountant', 'human'],
    [undefined, undefined],
  ])('%s is %s', (name, kind) => {
    expect(userKindOf(name)).toBe(kind)
  })
})

describe('a failure', () => {
  it.each([
    ['script_failure', 'user', undefined],
    ['job_execution_timeout', 'user', undefined],
    ['runner_system_failure', 'platform', 'runner'],
    ['stuck_or_timeout_failure', 'platform', 'scheduler'],
    ['api_failure', 'platform', 'api'],
    ['unknown_failure', 'unknown', undefined],
    ['downstream_pipeline_creation_failed', 'user', undefined],
    ['a_reason_of_tomorrow', 'unknown', undefined],
    ['', 'unknown', undefined],
  ])('for %j is of the domain %s and the component %s', (reason, domain, component) => {
    expect(meaningOf(reason)).toMatchObject({ domain })
    expect(meaningOf(reason).component).toBe(component)
  })

  it('has the state of a merge request that is no longer a draft', () => {
    expect(changeStateOf('opened', true)).toBe('wip')
    expect(changeStateOf('opened', false)).toBe('open')
    expect(changeStateOf('closed', true)).toBe('closed')
  })
})

describe('the jobs of an attempt', () => {
  const body = payload('pipeline-merge-request')
  const times = (from: number, to: number): object => ({
    started_at: `2025-03-11 10:12:${String(from).padStart(2, '0')} UTC`,
    finished_at: `2025-03-11 10:12:${String(to).padStart(2, '0')} UTC`,
    duration: to - from,
  })
  const builds = [
    { id: 1, name: 'compile', stage: 'build', status: 'success', ...times(0, 10) },
    { id: 2, name: 'lint', stage: 'build', status: 'success', ...times(0, 4) },
    { id: 3, name: 'unit', stage: 'test', status: 'success', ...times(12, 30) },
    { id: 4, name: 'docs', stage: 'test', status: 'failed', failure_reason: 'script_failure', ...times(12, 20) },
    {
      ...{ id: 5, name: 'live', stage: 'deploy', status: 'success', ...times(33, 40) },
      environment: { name: 'production', action: 'start', deployment_tier: 'production' },
    },
    { id: 6, name: 'undo', stage: 'deploy', status: 'manual', started_at: null, finished_at: null },
    {
      id: 7,
      name: 'stop',
      stage: 'deploy',
      status: 'failed',
      ...times(33, 35),
      environment: { name: 'old', action: 'stop' },
    },
  ]
  const bridges = [{ id: 8, name: 'rollout', stage: 'deploy', status: 'success', ...times(33, 39) }]

  it.each([100, 2])('are marked as critical or with their slack, in chunks of %i', chunkSize => {
    const spans = spansOf(runOf({ ...body, builds, bridges }), chunkSize)
    const placed = spans
      .slice(1)
      .map(({ name, attributes }) => [
        name,
        attributes['platform.cicd.pipeline.task.run.critical'],
        attributes['platform.cicd.pipeline.task.run.slack'],
      ])
    // lint could have ended when compile did; docs when unit did; rollout and stop when live did.
    expect(placed.toSorted()).toEqual(
      [
        ['job: compile', true, 0],
        ['job: lint', false, 6_000],
        ['job: unit', true, 0],
        ['job: docs', false, 10_000],
        ['job: live', true, 0],
        ['job: undo', undefined, undefined],
        ['job: stop', false, 5_000],
        ['job: rollout', false, 1_000],
      ].toSorted(),
    )
    // 10 + 4 + 18 + 8 + 7 + 2 s: a bridge runs nowhere.
    expect(spans[0]!.attributes['platform.cicd.pipeline.run.compute_time']).toBe(49_000)
  })

  it('are deployments if they start an environment', () => {
    const spans = spansOf(runOf({ ...body, builds }))
    const of = (name: string): object => spans.find(span => span.name === name)!.attributes
    expect(of('job: live')).toMatchObject({
      'deployment.environment.name': 'production',
      'deployment.name': 'live',
      'deployment.status': 'succeeded',
    })
    for (const name of ['job: stop', 'job: unit']) {
      expect(Object.keys(of(name)).filter(key => key.startsWith('deployment.'))).toEqual([])
    }
    expect(of('job: docs')).toMatchObject({ 'platform.cicd.failure.domain': 'user' })
    expect(of('job: unit')).not.toHaveProperty('platform.cicd.failure.domain')
  })

  it('have the artifact sizes that enrichment adds', () => {
    const run = runOf({ ...body, builds: builds.slice(0, 1) })
    const answer = restJob.parse({
      ...{ id: 1, name: 'compile', stage: 'build', status: 'success', tag_list: ['large'] },
      ...{ started_at: '2025-03-11T10:12:00.120Z', finished_at: '2025-03-11T10:12:10.480Z' },
      artifacts: [
        { file_type: 'archive', filename: 'artifacts.zip', size: 48_211 },
        { file_type: 'metadata', filename: 'metadata.gz', size: 164 },
        { file_type: 'trace', filename: 'job.log', size: 9_377 },
      ],
    })
    const { key, project } = run
    const rest = { instance: key.instance, pipelineId: key.pipelineId, project: project.facts, jobs: [answer] }
    const [, span] = spansOf(mergeRun(run, observedRun(normalizeRest(rest))))
    expect(span!.attributes).toMatchObject({
      'platform.cicd.pipeline.task.artifacts.total_size': 48_375,
      'platform.cicd.pipeline.task.log.size': 9_377,
    })
    expect(spansOf(run)[1]!.attributes).not.toHaveProperty('platform.cicd.pipeline.task.log.size')
  })
})

describe('the metrics of jobs', () => {
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

  it.each([100, 2])('are right in chunks of %i', chunkSize => {
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
    // Two minutes at 0.5, twice.
    const cost = pointsOf(reported, 'platform.cicd.compute.cost')
    expect(cost.reduce((sum, point) => sum + valueOf(point), 0)).toBe(2)
    expect(reported.find(({ name }) => name === 'platform.cicd.compute.cost')!.unit).toBe('EUR')
    expect(pointsOf(reported, 'cicd.system.errors')).toMatchObject([
      { value: 1, attributes: { 'cicd.system.component': 'runner', 'error.type': 'runner_system_failure' } },
    ])
  })

  it('separate queues by the type and the tags of the runner', () => {
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

  it('count the time of a canceled job as superseded if a newer pipeline of the ref existed', () => {
    const reported = pointsOf(
      measured(runOf({ ...body, builds: builds.slice(5) }), 100, true),
      'platform.cicd.compute.time',
    )
    expect(reported).toMatchObject([{ value: 9, attributes: { 'platform.cicd.compute.purpose': 'superseded' } }])
  })

  it("have the feedback time, and the project's name if the pipeline has none", () => {
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

  it('have the error type beside the duration of a failed pipeline', () => {
    const failed = { ...body.object_attributes, status: 'failed' }
    const [took] = pointsOf(
      measured(runOf({ ...body, object_attributes: failed, builds: builds.slice(0, 1) })),
      'cicd.pipeline.run.duration',
    )
    expect(took!.attributes['error.type']).toBe('script_failure')
    const [well] = pointsOf(measured(runOf(body)), 'cicd.pipeline.run.duration')
    expect(well!.attributes).not.toHaveProperty('error.type')
  })
})
