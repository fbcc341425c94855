// Tests what `PIPESPAN_CONVENTIONS=strict` changes, with one test per row of the table on the reference page.
import { describe, expect, it } from 'vitest'
import { decodeMetrics } from '../../support/otlp-decode.ts'
import { encodeMetrics } from '../../../src/core/telemetry/encode.ts'
import { measure } from '../../../src/core/telemetry/metrics/samples.ts'
import { profiles } from '../../../src/daemon/profile.ts'
import { readableRecords, readableSpans } from './sdk.ts'
import { stories } from './stories.ts'
import { strictChanges } from '../../../scripts/docs/strict.ts'
import { taskTypeOf } from '../../../src/core/telemetry/mapping/job.ts'
import { toCumulative } from '../../../src/core/telemetry/metrics/cumulative.ts'
import { telemetrySettings } from '../../../src/core/telemetry/settings.ts'
import type { Chunk, JobSnapshot } from '../../../src/model/chunk.ts'

const contract = telemetrySettings({ profiles })
const strict = telemetrySettings({ profiles, conventions: 'strict' })
const [success] = stories.success!
const [failure] = stories.failure!

function pointsOf(chunk: Chunk, name: string, settings = strict) {
  return decodeMetrics(encodeMetrics([chunk], settings))
    .filter(metric => metric.name === name)
    .flatMap(metric => [...metric.points])
}

function withJob(changes: Partial<JobSnapshot>): Chunk {
  return { ...success!, jobs: [{ ...success!.jobs[0]!, ...changes }] }
}

/** Returns an attribute of the job's span, and checks that the job's log record has the same value. */
function jobAttribute(chunk: Chunk, name: string, settings = strict): unknown {
  const span = readableSpans(chunk, settings)[1]!.attributes[name]
  expect(readableRecords(chunk, settings)[1]!.attributes[name]).toEqual(span)
  return span
}

/** The tests, by the name of their row in the table on the reference page. */
const promises: Readonly<Record<(typeof strictChanges)[number]['name'], () => void>> = {
  'metric `cicd.pipeline.run.duration`': () => {
    const facts = { ...failure!.pipeline.facts, duration: 250, queuedDuration: 12 }
    const chunk = { ...failure!, attempt: 1, pipeline: { ...failure!.pipeline, facts } }
    const state = 'cicd.pipeline.run.state'
    expect(pointsOf(chunk, 'cicd.pipeline.run.duration', contract)).toMatchObject([
      { sum: 250, attributes: { [state]: 'finalizing', 'cicd.pipeline.result': 'timeout' } },
    ])
    const [pending, executing, ...others] = pointsOf(chunk, 'cicd.pipeline.run.duration')
    expect(others).toEqual([])
    expect(pending).toMatchObject({ sum: 12, attributes: { [state]: 'pending' } })
    expect(Object.keys(pending!.attributes)).not.toContain('cicd.pipeline.result')
    expect(Object.keys(pending!.attributes)).not.toContain('error.type')
    expect(executing).toMatchObject({
      sum: 250,
      attributes: {
        [state]: 'executing',
        'cicd.pipeline.result': 'timeout',
        'error.type': failure!.pipeline.failures[0],
      },
    })
    const totals = measure(chunk, strict)!.increments.filter(({ metric }) => metric === 'cicd.pipeline.run.duration')
    expect(totals.map(({ amount }) => amount)).toMatchObject([{ sum: 12 }, { sum: 250 }])
    // The platform does not report how long a retried pipeline was queued.
    const retried = pointsOf({ ...chunk, attempt: 2 }, 'cicd.pipeline.run.duration')
    expect(retried.map(({ attributes }) => attributes[state])).toEqual(['executing'])
  },

  'status message of spans': () => {
    const failed = readableSpans(failure!, contract).filter(({ status }) => status.message !== undefined)
    expect(failed.length).toBeGreaterThan(1)
    for (const { status, attributes } of failed) expect(attributes['error.type']).toBe(status.message)
    const spans = readableSpans(failure!, strict)
    expect(spans.map(({ status }) => status)).toEqual(
      readableSpans(failure!, contract).map(({ status: { code } }) => ({ code })),
    )
    const facts = { ...failure!.pipeline.facts, yamlErrors: 'jobs config should contain a job' }
    const [refused] = readableSpans({ ...failure!, pipeline: { ...failure!.pipeline, facts } }, strict)
    expect(refused!.status.message).toBe('jobs config should contain a job')
  },

  '`cicd.pipeline.task.type`': () => {
    const type = 'cicd.pipeline.task.type'
    const named = { build: 'build', '2-Unit_Tests': 'test', 'deploy:production': 'deploy', lint: undefined }
    for (const [stage, meant] of Object.entries(named)) {
      const chunk = withJob({ stage })
      expect(jobAttribute(chunk, type)).toBe(meant)
      expect(jobAttribute(chunk, 'job.stage')).toBe(stage)
      expect(jobAttribute(chunk, 'platform.cicd.pipeline.task.stage')).toBe(stage)
      expect(jobAttribute(chunk, type, contract)).toBe(stage)
      expect(jobAttribute(chunk, 'platform.cicd.pipeline.task.stage', contract)).toBeUndefined()
    }
    expect([taskTypeOf('build-and-test'), taskTypeOf('latest'), taskTypeOf(undefined)]).toEqual(
      Array(3).fill(undefined),
    )
    const stages = pointsOf(success!, 'cicd.pipeline.task.duration').map(({ attributes }) => [
      attributes['platform.cicd.pipeline.task.stage'],
      attributes[type],
    ])
    const known = pointsOf(success!, 'cicd.pipeline.task.duration', contract).map(({ attributes }) => attributes[type])
    expect(stages).toEqual(known.map(stage => [stage, taskTypeOf(stage as string)]))
    expect(stages.length).toBeGreaterThan(1)
  },

  '`cicd.worker.state`': () => {
    const state = 'cicd.worker.state'
    const runner = { id: 5, active: false }
    const startedAt = success!.pipeline.start
    expect(jobAttribute(withJob({ runner, startedAt }), state)).toBe('busy')
    expect(jobAttribute(withJob({ runner, startedAt }), state, contract)).toBe('offline')
    expect(jobAttribute(withJob({ runner, startedAt: undefined }), state)).toBeUndefined()
    expect(jobAttribute(withJob({ runner: undefined, startedAt }), state)).toBeUndefined()
  },
}

describe('strict conventions', () => {
  it.each(strictChanges.map(({ name }) => name))('differs from the contract in strict mode in: %s', name =>
    promises[name](),
  )

  it('exports the same spans in strict mode as the contract specifies, apart from the listed differences', () => {
    const changed = /^(cicd\.pipeline\.task\.type|(platform|gitlab)\.cicd\.pipeline\.task\.stage|cicd\.worker\.state)$/
    const rest = (settings: typeof strict) =>
      Object.values(stories)
        .flat()
        .flatMap(chunk => readableSpans(chunk, settings))
        .map(({ name, kind, startTime, endTime, attributes, status: { code } }) => [
          ...[name, kind, startTime, endTime, code],
          Object.entries(attributes).filter(([key]) => !changed.test(key)),
        ])
    expect(rest(strict)).toEqual(rest(contract))
  })
})

it.each([
  ['contract', contract],
  ['strict', strict],
])('exports each metric of the totals once with %s conventions', (_name, settings) => {
  const measured = measure(success!, settings)!
  const series = measured.increments.map(increment => ({ ...increment, startedAt: 1 }))
  const [{ scopeMetrics }] = [toCumulative({ ...measured, series }, 10, settings)!]
  const names = scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name))
  expect(names).toContain('cicd.pipeline.run.duration')
  expect(new Set(names).size).toBe(names.length)
})
