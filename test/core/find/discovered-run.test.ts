// Tests whether a listed pipeline counts as changed although its status is already known.
import { describe, expect, it } from 'vitest'
import { observedRun, mergeRun, type Run } from '../../../src/model/run.ts'
import { isNew } from '../../../src/core/find/discovered-run.ts'
import { normalizeRest } from '../../../src/platform/rest/observation.ts'
import { restPipeline } from '../../../src/platform/rest/pipelines.ts'
import type { Observation } from '../../../src/model/observation.ts'

const instance = 'https://git.example.com'
const ended = Date.parse('2026-06-01T12:00:05.400Z')

const byWebhook: Observation = {
  key: { instance, pipelineId: 7 },
  origin: 'webhook',
  project: { id: 3 },
  pipeline: { facts: { status: 'failed' }, times: { createdAt: ended - 65_400, finishedAt: ended - 400 } },
  jobs: [],
}

function byRest(updatedAt: number): Observation {
  const pipeline = restPipeline.parse({
    id: 7,
    project_id: 3,
    status: 'failed',
    created_at: new Date(ended - 65_000).toISOString(),
    finished_at: new Date(ended).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  })
  return normalizeRest({ instance, pipeline })
}

function isNewsAfter(known: Run, updatedAt: number, endedAt?: number): boolean {
  const item = { id: 7, project: { id: 3 }, status: 'failed', updatedAt }
  return isNew({ run: known, timing: { changedAt: 0, endedAt }, firstSeenBy: {} }, item)
}

describe('a listed pipeline with a known status', () => {
  it('counts a listed pipeline as changed if the platform changed it after the last response about it, even by a millisecond', () => {
    const known = mergeRun(observedRun(byWebhook), observedRun(byRest(ended + 30)))
    expect(isNewsAfter(known, ended + 30)).toBe(false)
    expect(isNewsAfter(known, ended + 31)).toBe(true)
    expect(isNewsAfter(known, ended + 3_000)).toBe(true)
  })

  it('also counts a listed pipeline as changed while its known end waits to be exported', () => {
    expect(isNewsAfter(observedRun(byRest(ended)), ended + 3_000, 1)).toBe(true)
    expect(isNewsAfter(observedRun(byRest(ended)), ended, 1)).toBe(false)
  })

  it('counts a listed pipeline as unchanged if a webhook reported the same end, truncated to the second', () => {
    const known = observedRun(byWebhook)
    expect(isNewsAfter(known, ended)).toBe(false)
    expect(isNewsAfter(known, ended + 1_000)).toBe(false)
    expect(isNewsAfter(known, ended + 2_000)).toBe(true)
  })
})

describe('a listed pipeline that waits for a manual job', () => {
  const exported = {
    attempt: 1,
    status: 'manual',
    finish: ended,
    newestSecond: ended / 1_000,
    incomplete: true,
    chunks: 1,
  }
  const trace = { scheme: 'instance', profile: 'generic', rootPipelineId: 7 } as const
  const waiting = restPipeline.parse({
    id: 7,
    project_id: 3,
    status: 'manual',
    updated_at: new Date(ended).toISOString(),
  })
  const known = observedRun(normalizeRest({ instance, pipeline: waiting }))
  const isNewAt = (run: Run, updatedAt: number): boolean =>
    isNew(
      { run, timing: { changedAt: 0 }, firstSeenBy: {} },
      { id: 7, project: { id: 3 }, status: 'manual', updatedAt },
    )

  it('counts as changed if the platform changed it after its export, because one of its jobs may have run', () => {
    const run = { ...known, attempts: [{ ...exported, trace }] }
    expect([isNewAt(run, ended), isNewAt(run, ended + 1)]).toEqual([false, true])
    const pruned = { ...run, pipeline: undefined }
    expect([isNewAt(pruned, ended + 1_000), isNewAt(pruned, ended + 3_000)]).toEqual([false, true])
  })

  it('counts as unchanged before its export, which happens at its time anyway', () => {
    expect(isNewAt(known, ended + 3_000)).toBe(false)
  })
})
