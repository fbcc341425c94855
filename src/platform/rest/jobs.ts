// Requests the jobs and bridges of a pipeline. Also streams a job's output: its log, its artifacts, and its test report as parsed by the platform.
//
// A job in a response has the same fields as a job in a pipeline event, and others that only the REST API reports.
import { z } from 'zod'
import { factsOf, listedFacts, listedTimes, readArtifacts } from '../webhook/job-fields.ts'
import {
  fieldsOf,
  readCount,
  readFlag,
  readId,
  readMessage,
  readObject,
  readPercent,
  readStatus,
  readText,
  readTexts,
  readTime,
  readUrl,
  record,
  type WireObject,
} from '../wire-read.ts'
import { knownOf } from '../../model/versioned.ts'
import type { CallOptions, JobLogRead, ListOptions, Pages, PlatformClient, ResourceId } from '../port.ts'
import { segmentOf, type Api } from './api.ts'
import { testReport, type RestTestReport } from '../reports/test-report-json.ts'
import type { JobFacts, ObservedJob, Runner } from '../../model/observation.ts'
import type { Streamed } from './http.ts'
import type { Millis } from '../../model/instant.ts'

/** A job or a bridge, with the facts about its pipeline that the response includes. */
export interface RestJob extends ObservedJob {
  readonly ref?: string | undefined
  readonly commit?: Commit | undefined
}

interface Commit {
  readonly id: string
  readonly message?: string | undefined
  readonly committedAt?: Millis | undefined
}

const readCommit = record<Commit>(['id'], {
  id: ['id', readText],
  message: ['message', readMessage],
  committedAt: ['committed_date', readTime],
})

const restFacts = fieldsOf<JobFacts>({
  coverage: ['coverage', readPercent],
  url: ['web_url', readUrl],
  tags: ['tag_list', readTexts],
})

/** A job in the response of `GET /projects/:id/pipelines/:pipeline_id/jobs` and `…/bridges`. */
export const restJob = jobSchema('job')
export const restBridge = jobSchema('bridge')

/** The schema of a job. A job without an ID or a status is invalid. */
function jobSchema(kind: JobFacts['kind']) {
  return z.unknown().transform((item, context): RestJob => {
    const json = readObject(item) ?? {}
    const [id, facts] = [readId(json.id), factsOf(kind, readFacts(json))]
    if (id !== undefined && facts !== undefined)
      return { id, facts, times: listedTimes(json), ref: readText(json.ref), commit: readCommit(json.commit) }
    for (const [field, value] of Object.entries({ id, status: readStatus(json.status) }))
      if (value === undefined) context.addIssue({ code: 'custom', message: 'no such value', path: [field] })
    return z.NEVER
  })
}

/** Maximum number of artifacts read per job. The platform has about forty artifact types. */
const maxArtifacts = 100

function readFacts(json: WireObject): Partial<JobFacts> {
  const facts = listedFacts(json)
  const listed: readonly unknown[] = Array.isArray(json.artifacts) ? json.artifacts.slice(0, maxArtifacts) : []
  const artifacts = listed.map(readObject).filter(item => item !== undefined)
  return {
    ...facts,
    ...restFacts(json),
    ...knownOf({
      artifacts: facts.artifacts ?? readArtifacts(artifacts.find(one => one.file_type === 'archive')),
      artifactSizes: sizesOf(artifacts),
      runner: facts.runner && withActive(facts.runner, readObject(json.runner)),
    }),
  }
}

/** Determines whether the runner is active. Newer platforms report instead whether the runner is paused. */
function withActive(runner: Runner, json: WireObject = {}): Runner {
  const paused = readFlag(json.paused)
  return runner.active !== undefined || paused === undefined ? runner : { ...runner, active: !paused }
}

/**
 * Returns the size in bytes of a job's artifacts of each type. Invalid type names are omitted; the sizes of artifacts of the same type are added up.
 * Returns undefined if no artifact has a size.
 */
function sizesOf(artifacts: readonly WireObject[]): JobFacts['artifactSizes'] {
  const sizes = new Map<string, number>()
  for (const { file_type: type, size } of artifacts) {
    const bytes = readCount(size)
    if (bytes === undefined || typeof type !== 'string' || !/^[a-z][a-z0-9_]{0,63}$/.test(type)) continue
    sizes.set(type, (sizes.get(type) ?? 0) + bytes)
  }
  return sizes.size === 0 ? undefined : Object.fromEntries(sizes)
}

export interface JobCalls extends Pick<PlatformClient, 'jobLog'> {
  /** Lists all jobs including retried ones, without bridges. */
  pipelineJobs(project: ResourceId, pipelineId: number, options: ListOptions): Pages<RestJob>
  pipelineBridges(project: ResourceId, pipelineId: number, options: ListOptions): Pages<RestJob>
  /** Streams one of a job's artifacts, or a file in the artifact archive, to `read`. Errors from `read` are rethrown. */
  jobArtifact<T>(
    project: ResourceId,
    jobId: number,
    which: { readonly type: string } | { readonly path: string },
    options: CallOptions,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<T>
  /** Requests the test reports of a pipeline's latest jobs, as parsed by the platform. */
  testReport(project: ResourceId, pipelineId: number, options: CallOptions): Promise<RestTestReport>
}

export function jobCalls(api: Api): JobCalls {
  const jobPath = (project: ResourceId, job: number) => `/projects/${segmentOf(project)}/jobs/${segmentOf(job)}`
  const pipelinePath = (project: ResourceId, id: number) => `/projects/${segmentOf(project)}/pipelines/${segmentOf(id)}`
  return {
    pipelineJobs: (project, id, call) =>
      api.pages(`${pipelinePath(project, id)}/jobs`, restJob, call, { include_retried: true }),
    pipelineBridges: (project, id, call) => api.pages(`${pipelinePath(project, id)}/bridges`, restBridge, call),
    jobLog: async (project, job, { maxBytes, onWindow, ...call }) =>
      api.stream(`${jobPath(project, job)}/trace`, call, async ({ body }): Promise<JobLogRead> => {
        let bytes = 0
        for await (const window of body) {
          const wanted = window.subarray(0, maxBytes - bytes)
          if (wanted.length > 0) onWindow(wanted)
          bytes += wanted.length
          if (wanted.length < window.length) return { bytes, isWhole: false }
        }
        return { bytes, isWhole: true }
      }),
    jobArtifact: async (project, job, which, call, read) => {
      const path = `${jobPath(project, job)}/artifacts`
      const body = async (answer: Streamed) => read(answer.body)
      if ('type' in which) return api.stream(path, call, body, { file_type: which.type })
      return api.stream(`${path}/${which.path.split('/').map(encodeURIComponent).join('/')}`, call, body)
    },
    testReport: async (project, id, call) => api.one(`${pipelinePath(project, id)}/test_report`, testReport, call),
  }
}
