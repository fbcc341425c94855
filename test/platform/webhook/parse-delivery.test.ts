// Tests how deliveries become observations. Every payload file in test/fixtures/webhooks becomes the observation in the file of the same name in
// `observations/`.
import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseDelivery } from '../../../src/platform/webhook/parse-delivery.ts'
import { bytesOf, folder, jsonOf, observe, parse, plain, reasonOf } from './parse-body.ts'

const files = readdirSync(folder).map(file => file.replace(/\.json$/, ''))

describe('a webhook payload file', () => {
  it.each(files)('turns the payload file %s into exactly the stored observation', async name => {
    const parsed = parseDelivery({ body: bytesOf(name) }, plain)
    await expect(JSON.stringify(parsed, null, 2) + '\n').toMatchFileSnapshot(`observations/${name}.snap`)
  })
})

describe('the event kind of a delivery', () => {
  it.each([
    ...['Pipelines Hook', 'CI Pipeline Hook', 'Pipeline Status Hook', 'Push Hook', 'Job Hook', 'Note Hook', 'Weather'],
    ...['System Hook', '', undefined],
  ])('uses the event kind in the body, whatever the header: %s', event => {
    for (const [name, kind] of [
      ['pipeline-failed', 'pipeline'],
      ['job-failed', 'job'],
    ] as const) {
      const body = Buffer.from(JSON.stringify(jsonOf(name)))
      const parsed = parseDelivery({ event, body }, plain)
      expect(parsed.outcome).toBe('observation')
      if (parsed.outcome === 'observation') expect(parsed.observation.pipeline !== undefined).toBe(kind === 'pipeline')
    }
    expect(parse(jsonOf('push'), { event })).toEqual({ outcome: 'ignored', kind: 'push' })
  })

  it('uses the event kind in the header if the body contains none, or a broader one', () => {
    expect(parse({}, { event: 'Teleport Hook' })).toEqual({ outcome: 'ignored', kind: 'unknown' })
    expect(parse({}, { event: 'Note Hook' })).toEqual({ outcome: 'ignored', kind: 'note' })
    expect(parse({ event_name: 'teleport' }, { event: 'Push Hook' })).toEqual({ outcome: 'ignored', kind: 'push' })
    const issue = { object_kind: 'issue' }
    const event = 'Confidential Issue Hook'
    expect(parse(issue, { event })).toEqual({ outcome: 'ignored', kind: 'confidential_issue' })
    expect(parse(jsonOf('pipeline-failed'), { event: 'Pipeline Hook' }).outcome).toBe('observation')
    expect(parse(jsonOf('job-failed'), { event: 'Build Hook' }).outcome).toBe('observation')
  })

  it('uses the event kind in the header for an ignored event whose body cannot be decoded', () => {
    const body = new Uint8Array([0xff])
    expect(parseDelivery({ event: 'Note Hook', body }, plain)).toEqual({ outcome: 'ignored', kind: 'note' })
  })
})

describe('a boolean field in a payload', () => {
  it.each([
    [true, true],
    [null, false],
    [undefined, undefined],
  ])('reads a boolean field with the value %s as %s', (given, known) => {
    const body = jsonOf('pipeline-failed')
    const { pipeline, jobs } = observe({
      ...body,
      object_attributes: { ...(body as Record<string, object>).object_attributes, protected_ref: given, tag: given },
      merge_request: { iid: 4, draft: given },
      builds: [
        ...[{ id: 1, status: 'success', manual: given, allow_failure: given }],
        ...[{ id: 2, status: 'success', runner: { id: 1, active: given, is_shared: given } }],
      ],
    })
    expect(pipeline?.facts).toMatchObject({ mergeRequest: { iid: 4 } })
    expect([pipeline?.facts.protectedRef, pipeline?.facts.tag]).toEqual([known, known])
    expect(pipeline?.facts.mergeRequest?.draft).toBe(known)
    expect([jobs[0]?.facts.manual, jobs[0]?.facts.allowFailure]).toEqual([known, known])
    expect([jobs[1]?.facts.runner?.active, jobs[1]?.facts.runner?.isShared]).toEqual([known, known])
  })

  it('recognises a draft merge request by other fields if its draft field is null', () => {
    const of = (merge_request: object) =>
      observe({ ...jsonOf('pipeline-failed'), merge_request: { iid: 4, draft: null, ...merge_request } })
    expect(of({ title: 'Draft: cranes' }).pipeline?.facts.mergeRequest?.draft).toBe(true)
    expect(of({ work_in_progress: true }).pipeline?.facts.mergeRequest?.draft).toBe(true)
  })
})

describe('a pipeline event from a webhook', () => {
  const base = {
    object_attributes: { id: 31, status: 'running' },
    project: { id: 4, web_url: 'https://git.example.com/a/b' },
  }
  const key = { instance: 'https://git.example.com', pipelineId: 31 }
  const event = { event: 'Pipeline Hook' }

  it('accepts a pipeline event that has only ids, a status and a URL', () => {
    expect(observe(base, event)).toEqual({
      key,
      origin: 'webhook',
      project: { id: 4, path: 'a/b', webUrl: 'https://git.example.com/a/b' },
      pipeline: { facts: { status: 'running' }, times: {} },
      jobs: [],
    })
  })

  it('accepts a pipeline event whose ids are digit strings, or whose status comes from a newer platform version', () => {
    const { pipeline, key } = observe({ ...base, object_attributes: { id: '31', status: 'hibernating' } }, event)
    expect(key.pipelineId).toBe(31)
    expect(pipeline?.facts.status).toBe('hibernating')
  })

  it.each([
    [{}, 'object_attributes, project'],
    [{ ...base, object_attributes: { status: 'running' } }, 'object_attributes.id'],
    [{ ...base, object_attributes: { id: 0, status: 'running' } }, 'object_attributes.id'],
    [{ ...base, object_attributes: { id: -3, status: 'running' } }, 'object_attributes.id'],
    [{ ...base, object_attributes: { id: 2 ** 53, status: 'running' } }, 'object_attributes.id'],
    [{ ...base, object_attributes: { id: 1.5, status: 'running' } }, 'object_attributes.id'],
    [{ ...base, object_attributes: { id: '9'.repeat(16), status: 'running' } }, 'object_attributes.id'],
    [{ ...base, object_attributes: { id: 'planted', status: 'running' } }, 'object_attributes.id'],
    [{ ...base, object_attributes: { id: 31 } }, 'object_attributes.status'],
    [{ ...base, object_attributes: { id: 31, status: ' ' } }, 'object_attributes.status'],
    [{ ...base, object_attributes: { id: 31, status: 'x'.repeat(65) } }, 'object_attributes.status'],
    [{ ...base, object_attributes: { id: null, status: null } }, 'object_attributes.id, object_attributes.status'],
    [{ ...base, project: { web_url: 'https://git.example.com/a/b' } }, 'project.id'],
  ])('rejects a pipeline event and names the missing field (%#)', (body, fields) => {
    expect(reasonOf(body, event)).toBe(
      `The pipeline event has no usable ${fields}. If its webhook has a custom template, remove it: ` +
        "only the platform's standard payload can be decoded.",
    )
  })

  it('drops invalid fields of a pipeline event, and keeps the others', () => {
    const { pipeline, jobs } = observe(
      {
        ...base,
        object_attributes: {
          ...base.object_attributes,
          ref: 7,
          name: null,
          sha: '',
          tag: 'yes',
          duration: -1,
          queued_duration: 'NaN',
          created_at: '2016-02-30 10:00:00 UTC',
          stages: ['build', null, 7, 'test'],
          url: 'javascript:alert(1)',
        },
        user: { id: null, username: 'root' },
        commit: { id: 5, message: 'Fix it' },
        merge_request: { title: 'no iid' },
        source_pipeline: { job_id: 5 },
        builds: [{ id: 1, status: 'success', runner: { id: null }, artifacts_file: { size: 5 }, environment: 7 }],
      },
      event,
    )
    expect(pipeline).toEqual({
      facts: {
        status: 'running',
        stages: ['build', 'test'],
        user: { username: 'root' },
        commit: { message: 'Fix it' },
      },
      times: {},
    })
    expect(jobs).toEqual([{ id: 1, facts: { kind: 'job', status: 'success' }, times: {} }])
  })

  it('drops and counts invalid jobs of a pipeline event, and keeps the others', () => {
    const builds = [
      { id: 1, status: 'success' },
      { id: 2 },
      null,
      { status: 'failed' },
      'job',
      { id: '3', status: 'x' },
    ]
    const parsed = parse({ ...base, builds, bridges: [{ id: 4, status: 'success' }, {}] }, event)
    expect(parsed).toMatchObject({ outcome: 'observation', dropped: 5 })
    expect(parsed.outcome === 'observation' && parsed.observation.jobs.map(job => [job.id, job.facts.kind])).toEqual([
      [1, 'job'],
      [3, 'job'],
      [4, 'bridge'],
    ])
  })

  it('truncates long strings in a pipeline event, drops long URLs, and removes characters that databases cannot store', () => {
    const long = 'x'.repeat(100_000)
    const { pipeline } = observe(
      {
        ...base,
        object_attributes: { ...base.object_attributes, ref: long, name: 'a\0b\ud800', url: `https://${long}` },
        commit: { message: long },
      },
      event,
    )
    expect(pipeline?.facts.ref).toHaveLength(1_024)
    expect(pipeline?.facts.commit?.message).toHaveLength(65_536)
    expect(pipeline?.facts.name).toBe('ab\ufffd')
    expect(pipeline?.facts.url).toBeUndefined()
  })

  it('reads the kind of a merge request pipeline from its payload field, or else from the ref', () => {
    const eventOf = (fields: object): unknown =>
      observe({ ...base, object_attributes: { ...base.object_attributes, ...fields } }, event).mergeRequestEvent
    expect(eventOf({ ref: 'topic', merge_request_event_type: 'merge_train' })).toBe('merge_train')
    expect(eventOf({ ref: 'refs/merge-requests/9/train' })).toBe('merge_train')
    expect(eventOf({ ref: 'topic' })).toBeUndefined()
  })

  it('keeps implausible but valid durations in a pipeline event', () => {
    const durations = { duration: 0.0004, queued_duration: 11_836_800.5 }
    const { pipeline } = observe({ ...base, object_attributes: { ...base.object_attributes, ...durations } }, event)
    expect(pipeline?.facts).toMatchObject({ duration: 0.0004, queuedDuration: 11_836_800.5 })
  })

  it("detects from a payload's fields whether the platform lists the bridge that triggered the pipeline", () => {
    const source = { pipeline_id: 30, job_id: 5, project: { id: 9 } }
    const reported = (attributes: object, more: object) =>
      observe({ ...base, object_attributes: { ...base.object_attributes, ...attributes }, ...more }, event).pipeline
        ?.facts.sourcePipeline
    const from = { pipelineId: 30, projectId: 9, jobId: 5 }
    expect(reported({}, { source_pipeline: source })).toEqual(from)
    expect(reported({ source: 'parent_pipeline' }, { source_pipeline: source })).toEqual(from)
    expect(reported({}, { source_pipeline: { ...source, job_id: null } })).toEqual({ pipelineId: 30, projectId: 9 })
    expect(reported({}, { source_pipeline: { ...source, job_id: null, bridge_id: 6 } })).toEqual({
      ...from,
      jobId: 6,
      bridgesAreListed: true,
    })
    expect(reported({ source: 'parent_pipeline' }, { source_pipeline: source, bridges: [] })).toEqual({
      ...from,
      bridgesAreListed: true,
    })
    expect(reported({ source: 'pipeline', root_pipeline_id: 30 }, { source_pipeline: source })).toEqual({
      ...from,
      startedByJob: true,
    })
  })
})

describe('a job event from a webhook', () => {
  const base = { build_id: 5, build_status: 'success', pipeline_id: 31, project_id: 4 }
  const delivery = { event: 'Job Hook', instance: 'https://git.example.com' }

  it('accepts a job event that has only ids and a status', () => {
    expect(observe(base, delivery)).toEqual({
      key: { instance: 'https://git.example.com', pipelineId: 31 },
      origin: 'webhook',
      project: { id: 4 },
      jobs: [{ id: 5, facts: { kind: 'job', status: 'success' }, times: {} }],
    })
  })

  it('reads the failure reason of a job event only if the job failed', () => {
    const reason = (build_status: string) =>
      observe({ ...base, build_status, build_failure_reason: 'unknown_failure' }, delivery).jobs[0]?.facts.failureReason
    expect(reason('success')).toBeUndefined()
    expect(reason('canceled')).toBeUndefined()
    expect(reason('failed')).toBe('unknown_failure')
  })

  it("reads the project's id from a job event, and derives the project's name from the display name", () => {
    const { project } = observe(
      { ...base, project_id: null, project: { id: 7 }, project_name: 'Acme / Shop' },
      delivery,
    )
    expect(project).toEqual({ id: 7, name: 'Shop' })
  })

  it.each([
    ['build_id', 'build_id'],
    ['build_status', 'build_status'],
    ['pipeline_id', 'pipeline_id'],
    ['project_id', 'project_id'],
  ])('rejects a job event without the field %s, and names the field', (field, named) => {
    // In a job event, the commit's id is the pipeline's id, but it is not used if `pipeline_id` is missing.
    const body = { ...base, commit: { id: 31 }, [field]: undefined }
    expect(reasonOf(body, delivery)).toContain(`The job event has no usable ${named}.`)
  })
})
