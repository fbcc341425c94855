// Tests how deliveries become observations. Every payload file in test/fixtures/webhooks becomes the observation in the file of the same name in
// `observations/`.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createTextRedaction } from '../../../src/lib/text-redaction.ts'
import { createWantedFacts } from '../../../src/platform/wanted-facts.ts'
import { eventFile } from '../../fixtures/event-files.ts'
import { everyEvent } from '../../../src/platform/webhook/event-selection.ts'
import { parseDelivery, type Delivery, type ParseOptions } from '../../../src/platform/webhook/parse-delivery.ts'
import { profiles } from '../../../src/daemon/profile.ts'

const folder = new URL('../../fixtures/webhooks/', import.meta.url)
const files = readdirSync(folder).map(file => file.replace(/\.json$/, ''))
const bytesOf = (name: string) => readFileSync(new URL(`${name}.json`, folder))
const jsonOf = (name: string) => JSON.parse(bytesOf(name).toString()) as Record<string, never>

const plain: ParseOptions = { profile: profiles.generic, traceparent: false }

function parse(body: unknown, delivery: Partial<Delivery> = {}, options = plain) {
  return parseDelivery({ body: Buffer.from(JSON.stringify(body)), ...delivery }, options)
}

function observe(body: unknown, delivery: Partial<Delivery> = {}, options = plain) {
  const parsed = parse(body, delivery, options)
  if (parsed.outcome !== 'observation') throw new Error(JSON.stringify(parsed))
  return parsed.observation
}

function reasonOf(body: unknown, delivery: Partial<Delivery> = {}, options = plain): string {
  const parsed = parse(body, delivery, options)
  return parsed.outcome === 'unparseable' ? parsed.reason : `no failure: ${parsed.outcome}`
}

describe('a webhook payload file', () => {
  it.each(files)('turns %s into exactly the observation in the file beside this test', async name => {
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

describe('the platform instance of a delivery', () => {
  const body = jsonOf('pipeline-failed')
  const platformUrl = 'https://configured.example.com/'

  it("takes the instance from the header if it matches the project, otherwise from the configured URL, or else from the project's origin", () => {
    const header = { instance: 'HTTPS://Git.Example.com:443/' }
    expect(observe(body, header, { ...plain, platformUrl }).key.instance).toBe('https://git.example.com')
    expect(observe(body, {}, { ...plain, platformUrl }).key.instance).toBe('https://configured.example.com')
    expect(observe(body).key.instance).toBe('https://git.example.com')
  })

  it('ignores an invalid instance header', () => {
    expect(observe(body, { instance: 'not a URL' }).key.instance).toBe('https://git.example.com')
    expect(observe(body, { instance: 'ftp://x' }, { ...plain, platformUrl }).key.instance).toBe(
      'https://configured.example.com',
    )
  })

  it("keeps the instance's relative URL root, which is not part of the project's path", () => {
    const job = jsonOf('job-failed') as object
    const moved = { ...job, repository: { homepage: 'https://example.com/git/acme/shop/checkout' } }
    const { key, project } = observe(moved, { instance: 'https://example.com/git/' })
    expect(key.instance).toBe('https://example.com/git')
    expect(project.path).toBe('acme/shop/checkout')
  })

  it.each([
    'https://evil.example',
    'https://git.example.com:8443',
    'http://git.example.com',
    'https://git.example.com/evil',
  ])('ignores an unsigned instance header that contradicts the project: %s', instance => {
    expect(observe(body, { instance }).key.instance).toBe('https://git.example.com')
    expect(observe(body, { instance }, { ...plain, platformUrl }).key.instance).toBe('https://configured.example.com')
  })

  it("ignores an instance header that contains part of the project's path", () => {
    const project = { id: 4, web_url: 'https://example.com/git/acme/shop/checkout' }
    const reported = { object_attributes: { id: 31, status: 'running' }, project, builds: [] }
    const header = { event: 'Pipeline Hook', instance: 'https://example.com/git/acme' }
    expect(observe(reported, header).key.instance).toBe('https://example.com/git/acme')
    const full = { ...reported, project: { ...project, path_with_namespace: 'acme/shop/checkout' } }
    expect(observe(full, header).key.instance).toBe('https://example.com')
    expect(observe(full, { ...header, instance: 'https://example.com/git' }).key.instance).toBe(
      'https://example.com/git',
    )
  })

  it('reads the instance from the header if the payload has no project URL and no platform URL is configured', () => {
    const reported = { object_attributes: { id: 31, status: 'running' }, project: { id: 2 }, builds: [] }
    const header = { event: 'Pipeline Hook', instance: 'https://git.example.com/' }
    expect(observe(reported, header).key.instance).toBe('https://git.example.com')
    expect(observe(reported, header, { ...plain, platformUrl }).key.instance).toBe('https://configured.example.com')
  })

  it('names the missing header and says what to configure if the instance is unknown', () => {
    const lost = { object_attributes: { id: 1, status: 'running' }, project: { id: 2 }, builds: [] }
    expect(reasonOf(lost)).toBe(
      'The delivery does not name its instance: it has no usable X-Service-Instance header and no web URL of its project. ' +
        'Set PIPESPAN_PLATFORM_URL.',
    )
    expect(reasonOf(lost, {}, { ...plain, profile: profiles.gitlab })).toContain('X-Gitlab-Instance')
    expect(reasonOf({ ...lost, project: { id: 2, web_url: 'javascript:alert(1)' } })).toContain('instance')
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
  ])('rejects a pipeline event, with the name of the missing field (%#)', (body, fields) => {
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

describe("a pipeline's variables in a payload", () => {
  const body = jsonOf('pipeline-merge-request')
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

  it("never includes a pipeline's variables in an observation", () => {
    expect(JSON.stringify(observe(body))).not.toMatch(/planted|TRACEPARENT|0af7651916cd43dd/)
  })

  it("reads only the traceparent from a pipeline's variables, if configured to do so", () => {
    const observation = observe(body, {}, { ...plain, traceparent: true })
    expect(observation.pipeline?.facts.traceparent).toBe(traceparent)
    expect(JSON.stringify(observation)).not.toContain('planted')
  })

  describe('variables named in attribute rules', () => {
    const wantedOf = (...variables: string[]) => createWantedFacts({ labels: [], variables }, createTextRedaction([]))
    const event = (variables: unknown): object => {
      const whole = body as Record<string, object>
      return { ...whole, object_attributes: { ...whole.object_attributes, variables } }
    }
    const variablesOf = (variables: unknown, ...names: string[]): unknown =>
      observe(event(variables), {}, { ...plain, wanted: wantedOf(...names) }).pipeline?.facts.variables
    const listed = [
      { key: 'TEAM', value: 'payments' },
      { key: 'TEAM_KEY', value: 'planted-value' },
      { key: 'team', value: 'planted-value' },
      { key: 'TEAM', value: 'second' },
      { key: 'TIER', value: 1 },
      null,
    ]

    it('reads only variables with the exact configured names, and the first variable if a name is repeated', () => {
      expect(variablesOf(listed, 'TEAM', 'TIER', 'ABSENT')).toEqual({ TEAM: 'payments' })
      expect(variablesOf(listed, 'TEAM*', '.*', '')).toEqual({})
      expect(variablesOf(listed)).toBeUndefined()
      expect(variablesOf(undefined, 'TEAM')).toBeUndefined()
      const all = JSON.stringify(observe(event(listed), {}, { ...plain, wanted: wantedOf('TEAM') }))
      expect(all).not.toMatch(/planted|second/)
    })

    it('redacts the values of variables and truncates them to a maximum length', () => {
      const secrets = [
        { key: 'TEAM', value: `glpat-${'a1B2'.repeat(5)}` },
        { key: 'DB_PASSWORD', value: 'hunter2-hunter2' },
        { key: 'LONG', value: 'x'.repeat(300) },
      ]
      const read = variablesOf(secrets, 'TEAM', 'DB_PASSWORD', 'LONG')
      expect(JSON.stringify(read)).not.toMatch(/a1B2|hunter2/)
      expect(read).toMatchObject({ TEAM: '[REDACTED]', LONG: 'x'.repeat(256) })
    })
  })
})

describe("a merge request's labels", () => {
  const mine = 'team::payments'
  const secret = `team::glpat-${'a1B2'.repeat(5)}`
  const labels = [
    { title: 'workflow::review' },
    { title: mine },
    'team::basket',
    { name: 'team' },
    7,
    null,
    { title: 3 },
  ]
  const wanted = createWantedFacts({ labels: ['team::'], variables: [] }, createTextRedaction([]))
  const event = (labelled: unknown): object => {
    const body = jsonOf('pipeline-merge-request') as Record<string, object>
    return { ...body, merge_request: { ...body.merge_request, labels: labelled } }
  }
  const labelsOf = (labelled: unknown, options: ParseOptions = { ...plain, wanted }): unknown =>
    observe(event(labelled), {}, options).pipeline?.facts.labels

  it('reads only labels that begin with a configured prefix', () => {
    expect(labelsOf(labels)).toEqual(['team::basket', mine])
    expect(labelsOf([])).toEqual([])
    for (const none of [undefined, null, 'team::basket', {}]) expect(labelsOf(none)).toBeUndefined()
    expect(labelsOf(labels, plain)).toBeUndefined()
  })

  it('redacts and truncates labels, and limits them to sixteen', () => {
    expect(JSON.stringify(labelsOf([secret]))).toContain('REDACTED')
    expect(labelsOf([`team::${'x'.repeat(300)}`])).toEqual([`team::${'x'.repeat(250)}`])
    expect(labelsOf(Array.from({ length: 50 }, (_, n) => `team::${n}`))).toHaveLength(16)
  })

  it('also reads labels from merge request events', () => {
    const change = { ...(JSON.parse(eventFile('change').text) as object), labels }
    const parsed = parse(change, {}, { ...plain, wanted, events: everyEvent })
    expect(parsed).toMatchObject({ outcome: 'event', event: { labels: ['team::basket', mine] } })
    expect(parse(change, {}, { ...plain, events: everyEvent })).not.toHaveProperty('event.labels')
  })
})
