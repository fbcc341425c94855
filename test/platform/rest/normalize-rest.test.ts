// Tests how REST responses become observations.
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { fixture } from './platform-server.ts'
import { normalizeRest } from '../../../src/platform/rest/observation.ts'
import { projectOfPipeline, restPipeline } from '../../../src/platform/rest/pipelines.ts'
import { restBridge, restJob } from '../../../src/platform/rest/jobs.ts'

const instance = 'https://git.example.com'
const pipelineJson = fixture('pipeline-retried.json') as Record<string, unknown>
const pipeline = restPipeline.parse(pipelineJson)
const jobs = z.array(restJob).parse(fixture('jobs-retried.json'))
const bridges = z.array(restBridge).parse(fixture('bridges-retried.json'))
const job = (fixture('jobs-retried.json') as Record<string, unknown>[])[0]!

function observedJob(fields: Record<string, unknown>) {
  return normalizeRest({ instance, pipeline, jobs: [restJob.parse({ ...job, ...fields })] }).jobs[0]!
}

describe('the REST response for a pipeline that was retried eight days later', () => {
  const observation = normalizeRest({ instance, pipeline, jobs, bridges })

  it('turns the REST responses for a pipeline into one observation that contains all of their facts', () => {
    expect(observation.key).toEqual({ instance, pipelineId: 88120 })
    expect(observation.origin).toBe('rest')
    expect(observation.pipeline).toEqual({
      facts: {
        status: 'success',
        iid: 604,
        ref: 'main',
        sha: '5c1f0c2a9be84d0f6a1a7f6f7a1f9f3c2d7e4b10',
        beforeSha: '0'.repeat(40),
        tag: false,
        source: 'push',
        detailedStatus: 'passed with warnings',
        duration: 243,
        url: 'https://git.example.com/harbour/tools/crane/-/pipelines/88120',
        user: { id: 311, username: 'mira.holt' },
        coverage: 83.4,
        stages: ['build', 'test', 'deploy', 'downstream'],
        commit: {
          id: '5c1f0c2a9be84d0f6a1a7f6f7a1f9f3c2d7e4b10',
          message: 'Lift heavier crates\n\nThe old limit was a guess.\n',
        },
        committedAt: Date.parse('2025-03-03T09:12:03Z'),
      },
      times: {
        createdAt: Date.parse('2025-03-03T09:12:40.344Z'),
        finishedAt: Date.parse('2025-03-11T08:00:33.876Z'),
        updatedAt: Date.parse('2025-03-11T08:00:33.890Z'),
      },
    })
  })

  it('knows from its status that a job is manual', () => {
    expect(observation.jobs.filter(({ facts }) => facts.manual === true).map(({ facts }) => facts.name)).toEqual([
      'pages',
    ])
  })

  it('observes the jobs of both attempts of a retried pipeline', () => {
    expect(observation.jobs.map(({ id, facts }) => [id, facts.kind, facts.name, facts.status])).toEqual([
      [700101, 'job', 'image', 'success'],
      [700102, 'job', 'unit', 'failed'],
      [700103, 'job', 'pages', 'manual'],
      [700104, 'bridge', 'notify-docs', 'success'],
      [700105, 'bridge', 'notify-site', 'created'],
      [700950, 'job', 'unit', 'success'],
    ])
    expect(observation.jobs[0]).toEqual({
      id: 700101,
      facts: {
        kind: 'job',
        status: 'success',
        name: 'image',
        stage: 'build',
        duration: 58.94445,
        queuedDuration: 0.575741,
        allowFailure: false,
        user: { id: 311, username: 'mira.holt' },
        runner: {
          id: 90017,
          description: 'blue-4.shared-amd64.example.com',
          type: 'instance_type',
          active: true,
          isShared: true,
        },
        artifacts: { filename: 'artifacts.zip', size: 20480 },
        artifactSizes: { metadata: 186, archive: 20480 },
        tags: ['linux'],
        url: 'https://git.example.com/harbour/tools/crane/-/jobs/700101',
      },
      times: {
        createdAt: Date.parse('2025-03-03T09:12:40.381Z'),
        startedAt: Date.parse('2025-03-03T09:12:51.708Z'),
        finishedAt: Date.parse('2025-03-03T09:13:50.653Z'),
      },
    })
    expect(observation.jobs[1]!.facts.failureReason).toBe('script_failure')
    expect(observation.jobs[2]!.times).toEqual({ createdAt: Date.parse('2025-03-03T09:12:40.410Z') })
    expect(observation.jobs[5]!.facts.coverage).toBe(83.4)
  })

  it('observes the pipeline that a bridge triggered, if there is one', () => {
    expect(observation.jobs[3]!.facts.downstream).toEqual({ pipelineId: 88977, projectId: 5120 })
    expect(observation.jobs[4]!.facts).not.toHaveProperty('downstream')
  })

  it("reads the facts of a project from the pipeline's URL, and takes missing facts from other sources", () => {
    expect(observation.project).toEqual({
      id: 4711,
      path: 'harbour/tools/crane',
      webUrl: 'https://git.example.com/harbour/tools/crane',
    })
    const observed = normalizeRest({ instance, pipeline, project: { id: 4711, name: 'Crane', path: undefined } })
    expect(observed.project).toMatchObject({ name: 'Crane', path: 'harbour/tools/crane' })
  })
})

describe('the REST response for a pipeline', () => {
  it('observes neither stages nor a commit for a pipeline whose jobs are unknown', () => {
    const { pipeline: observed } = normalizeRest({ instance, pipeline })
    expect(observed!.facts).not.toHaveProperty('stages')
    expect(observed!.facts).not.toHaveProperty('commit')
  })

  it("does not use another revision's commit for a pipeline", () => {
    const merged = restPipeline.parse({ ...pipelineJson, sha: 'f'.repeat(40) })
    expect(normalizeRest({ instance, pipeline: merged, jobs }).pipeline!.facts).not.toHaveProperty('commit')
  })

  it('completes a pipeline with the facts from other REST responses', () => {
    const besides = {
      sourcePipeline: { pipelineId: 88000, jobId: 5 },
      rootPipelineId: 88000,
      mergeRequest: { iid: 17 },
    }
    expect(normalizeRest({ instance, pipeline, extra: besides }).pipeline!.facts).toMatchObject(besides)
  })

  it('recognises a merge request pipeline by its ref alone', () => {
    const kinds = { head: 'detached', merge: 'merged_result', train: 'merge_train' }
    for (const [kind, mergeRequestEvent] of Object.entries(kinds)) {
      const ofRequest = restPipeline.parse({ ...pipelineJson, ref: `refs/merge-requests/17/${kind}` })
      expect(normalizeRest({ instance, pipeline: ofRequest })).toMatchObject({
        ...{ mergeRequestEvent, pipeline: { facts: { mergeRequest: { iid: 17 } } } },
      })
      const ofJobs = [{ ...jobs[0]!, ref: `refs/merge-requests/17/${kind}` }]
      const answers = { instance, pipelineId: 7, project: { id: 3 }, jobs: ofJobs }
      expect(normalizeRest(answers)).toMatchObject({ mergeRequestEvent })
    }
    for (const ref of ['refs/merge-requests/17', 'refs/merge-requests/0/head', 'topic/refs/merge-requests/17/head']) {
      const ofBranch = restPipeline.parse({ ...pipelineJson, ref })
      const own = normalizeRest({ instance, pipeline: ofBranch })
      expect(own.pipeline!.facts).not.toHaveProperty('mergeRequest')
      expect(own).not.toHaveProperty('mergeRequestEvent')
    }
  })

  it('uses the commit time that the pipeline reports, or else that of a job with the same revision', () => {
    const committed = (fields: object): unknown =>
      normalizeRest({ instance, pipeline: restPipeline.parse({ ...pipelineJson, ...fields }), jobs }).pipeline!.facts
        .committedAt
    expect(committed({ committed_at: '2025-03-03T09:00:00.000Z' })).toBe(Date.parse('2025-03-03T09:00:00Z'))
    expect(committed({ committed_at: null })).toBe(Date.parse('2025-03-03T09:12:03Z'))
    expect(committed({ sha: 'f'.repeat(40) })).toBeUndefined()
  })

  it('observes the configuration errors of a pipeline', () => {
    const refused = restPipeline.parse({ ...pipelineJson, yaml_errors: 'jobs:test config should be a hash' })
    expect(normalizeRest({ instance, pipeline: refused }).pipeline!.facts.yamlErrors).toBe(
      'jobs:test config should be a hash',
    )
  })

  it('keeps a pipeline status that this version does not know', () => {
    const odd = restPipeline.parse({ ...pipelineJson, status: 'quarantined' })
    expect(normalizeRest({ instance, pipeline: odd }).pipeline!.facts.status).toBe('quarantined')
  })

  it('reads a pipeline even if fields have the wrong type, unless these fields identify the pipeline', () => {
    const { id, project_id, status, ...others } = pipelineJson
    const spoilt = Object.fromEntries(Object.keys(others).map(name => [name, { wrong: [name] }]))
    const { pipeline: observed, project } = normalizeRest({
      instance,
      pipeline: restPipeline.parse({ id, project_id, status, ...spoilt }),
    })
    expect(observed).toEqual({ facts: { status: 'success' }, times: {} })
    expect(project).toEqual({ id: 4711 })
  })

  it("observes only a pipeline's bridges if another source has reported the pipeline itself", () => {
    const project = { id: 4711, name: 'Crane' }
    const observation = normalizeRest({ instance, pipelineId: 88120, project, bridges })
    expect(observation).toMatchObject({ key: { instance, pipelineId: 88120 }, origin: 'rest', project })
    expect(observation.pipeline).toBeUndefined()
    expect(observation.jobs).toHaveLength(2)
  })
})

describe('the REST response for a job', () => {
  it.each([
    [null, undefined],
    [0, 0],
    [98.29, 98.29],
    ['98.29', 98.29],
    ['98,29', undefined],
    [-1, undefined],
  ])("reads a job's coverage %j as %j", (coverage, expected) => {
    expect(observedJob({ coverage }).facts.coverage).toBe(expected)
  })

  it("lists a job's archive as an artifact, but not the job's log and reports", () => {
    const archive = { file_type: 'archive', filename: 'out.zip', size: 7, file_format: 'zip' }
    const log = { file_type: 'trace', filename: 'job.log', size: 5 }
    expect(observedJob({ artifacts: [log, null, archive] }).facts.artifacts).toEqual({ filename: 'out.zip', size: 7 })
    expect(observedJob({ artifacts: [log] }).facts).not.toHaveProperty('artifacts')
  })

  it("reads the sizes of a job's log and of all its valid artifacts", () => {
    const listed = [
      { file_type: 'trace', filename: 'job.log', size: 5_098 },
      { file_type: 'junit', filename: 'junit.xml.gz', size: 700 },
      { file_type: 'junit', filename: 'more.xml.gz', size: 30 },
      { file_type: 'constructor', size: 1 },
      { file_type: '__proto__', size: 1 },
      { file_type: 'A type', size: 1 },
      { file_type: 'dotenv', size: -1 },
      { file_type: 'metrics', filename: 'metrics.txt' },
      7,
    ]
    expect(observedJob({ artifacts: listed }).facts.artifactSizes).toEqual({ trace: 5_098, junit: 730, constructor: 1 })
    expect(observedJob({ artifacts: [] }).facts).not.toHaveProperty('artifactSizes')
    expect(observedJob({ artifacts: undefined }).facts).not.toHaveProperty('artifactSizes')
  })

  it('reads a null boolean field of a job as false, and a missing field as undefined', () => {
    expect(observedJob({ allow_failure: null }).facts.allowFailure).toBe(false)
    expect(observedJob({ allow_failure: undefined }).facts).not.toHaveProperty('allowFailure')
    expect(observedJob({ runner: { id: 1, active: null, is_shared: null } }).facts.runner).toEqual({
      id: 1,
      active: false,
      isShared: false,
    })
    expect(observedJob({ runner: { id: 1, paused: true } }).facts.runner).toEqual({ id: 1, active: false })
  })

  it('reads the failure reason of a job only if the job failed', () => {
    expect(observedJob({ failure_reason: 'unknown_failure' }).facts).not.toHaveProperty('failureReason')
  })
})

describe('the project of a pipeline', () => {
  it.each([
    ['https://git.example.com/a/b/-/pipelines/1', instance, 'a/b', 'https://git.example.com/a/b'],
    ['https://git.example.com/a/b/pipelines/1', instance, 'a/b', 'https://git.example.com/a/b'],
    ['https://git.example.com/root/a/b/-/pipelines/1', `${instance}/root`, 'a/b', 'https://git.example.com/root/a/b'],
    ['https://public.example.org/a/b/-/pipelines/1', instance, 'a/b', 'https://public.example.org/a/b'],
    [
      'https://git.example.com/a/pipelines/-/pipelines/1',
      instance,
      'a/pipelines',
      'https://git.example.com/a/pipelines',
    ],
    ['https://git.example.com/elsewhere', instance, undefined, undefined],
    [undefined, instance, undefined, undefined],
  ])("reads a pipeline's project from the URL %s below the instance %s: %s", (web_url, base, path, webUrl) => {
    const found = projectOfPipeline({ project_id: 1, web_url }, base)
    expect([found.path, found.webUrl]).toEqual([path, webUrl])
  })
})
