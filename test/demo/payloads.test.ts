// The webhooks' shapes, against what is documented and what real captures show.
import { describe, expect, it } from 'vitest'
import { generatePipeline } from '../support/generate.ts'

interface Reported {
  object_kind: string
  object_attributes: Record<string, unknown>
  builds: Record<string, unknown>[]
  bridges?: Record<string, unknown>[]
  source_pipeline?: Record<string, unknown>
  [field: string]: unknown
}

const wireTime = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/

function reported(kind: 'pipeline' | 'job', ...args: Parameters<typeof generatePipeline>): Reported[] {
  const { deliveries } = generatePipeline(...args)
  return deliveries.filter(delivery => delivery.kind === kind).map(({ body }) => JSON.parse(body) as Reported)
}

describe('a pipeline event', () => {
  it('has every documented field', () => {
    const hook = reported('pipeline', 1, 'mergeRequest').at(-1)!
    expect(Object.keys(hook)).toEqual(
      expect.arrayContaining(['object_attributes', 'merge_request', 'user', 'project', 'commit', 'builds']),
    )
    expect(hook.object_kind).toBe('pipeline')
    expect(Object.keys(hook.object_attributes).sort()).toEqual([
      ...[
        'before_sha',
        'created_at',
        'detailed_status',
        'duration',
        'finished_at',
        'id',
        'iid',
        'name',
        'protected_ref',
      ],
      ...['queued_duration', 'ref', 'root_pipeline_id', 'sha', 'source', 'stages', 'status', 'tag', 'url', 'variables'],
    ])
    expect(hook.object_attributes.created_at).toMatch(wireTime)
    expect(hook.object_attributes.finished_at).toMatch(wireTime)
    const build = hook.builds.find(({ name }) => name === 'image')!
    expect(Object.keys(build).sort()).toEqual([
      ...['allow_failure', 'artifacts_file', 'created_at', 'duration', 'environment', 'failure_reason', 'finished_at'],
      ...['id', 'manual', 'name', 'queued_duration', 'runner', 'stage', 'started_at', 'status', 'user', 'when'],
    ])
    expect(build.artifacts_file).toMatchObject({ filename: 'artifacts.zip' })
    expect(build.runner).toMatchObject({ active: true, tags: expect.arrayContaining(['large']) as unknown })
  })

  it('lists bridges, the root and the triggering bridge on the newest platforms only', () => {
    const newest = reported('pipeline', 1, 'family').at(-1)!
    expect(newest.bridges?.map(({ name }) => name).sort()).toEqual(['backend', 'frontend'])
    const children = reported('pipeline', 1, 'family').filter(hook => hook.source_pipeline !== undefined)
    expect(children[0]?.source_pipeline).toMatchObject({ bridge_id: children[0]?.source_pipeline?.job_id })
    expect(children[0]?.object_attributes.root_pipeline_id).toBe(newest.object_attributes.id)

    for (const hook of reported('pipeline', 1, 'family', { newest: false })) {
      expect(hook).not.toHaveProperty('bridges')
      expect(hook.object_attributes).not.toHaveProperty('root_pipeline_id')
      expect(hook.source_pipeline ?? {}).not.toHaveProperty('bridge_id')
    }
  })

  it('never lists a bridge, nor a replaced job, among its builds', () => {
    for (const hook of reported('pipeline', 1, 'family')) {
      expect(hook.builds.map(({ name }) => name)).not.toContain('frontend')
    }
    const last = reported('pipeline', 1, 'retried').at(-1)!
    const names = last.builds.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })

  it('has no times for a manual job, and only a finish for one that was canceled before its start', () => {
    const none = { started_at: null, duration: null, queued_duration: null, runner: null }
    const manual = reported('pipeline', 1, 'blocked').at(-1)!
    expect(manual.builds.find(({ name }) => name === 'apply')).toMatchObject({
      ...none,
      finished_at: null,
      manual: true,
    })
    expect(manual.object_attributes.finished_at).toBeNull()
    const canceled = reported('pipeline', 1, 'canceled').at(-1)!
    const beta = canceled.builds.find(({ name }) => name === 'beta')
    expect(beta).toMatchObject(none)
    expect(beta?.finished_at).toMatch(wireTime)
  })

  it('adds up its duration over retries, and keeps its earlier finish while it runs again', () => {
    const hooks = reported('pipeline', 1, 'retried').map(hook => hook.object_attributes)
    const failed = hooks.findIndex(({ status }) => status === 'failed')
    const again = hooks.findLastIndex(({ status }) => status === 'running')
    expect(again).toBeGreaterThan(failed)
    expect(hooks[again]?.finished_at).toBe(hooks[failed]?.finished_at)
    expect(hooks.at(-1)?.duration).toBeGreaterThan(hooks[failed]?.duration as number)
  })
})

describe('a job event', () => {
  it("is flat, and has the platform's quirks", () => {
    const hook = reported('job', 1, 'branch').find(({ build_status: status }) => status === 'success')!
    expect(hook).toMatchObject({
      object_kind: 'build',
      build_failure_reason: 'unknown_failure',
      project_name: 'Shop / Storefront',
      commit: { id: hook.pipeline_id },
    })
    for (const field of ['build_created_at', 'build_started_at', 'build_finished_at']) {
      expect(hook[field]).toMatch(wireTime)
    }
  })

  it('is never sent for a bridge', () => {
    expect(reported('job', 1, 'family').map(hook => hook.build_name)).not.toContain('frontend')
  })

  it('counts the retries', () => {
    const counts = reported('job', 1, 'flakyRunner')
      .filter(hook => hook.build_name === 'build ios')
      .map(hook => hook.retries_count)
    expect([Math.min(...(counts as number[])), Math.max(...(counts as number[]))]).toEqual([0, 1])
  })
})
