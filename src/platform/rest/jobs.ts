// The jobs and bridges of a pipeline, and what a job leaves behind, as streams: its log, its artifacts, and the platform's report of tests.
import { z } from 'zod'
import { anyKnown, knownOf } from '../../model/versioned.ts'
import { maxList } from '../wire-read.ts'
import {
  maybe,
  wireCount,
  wireFlag,
  wireId,
  wireList,
  wireMessage,
  wirePercent,
  wireSeconds,
  wireStatus,
  wireText,
  wireTexts,
  wireTime,
  wireUrl,
} from './wire-field.ts'
import type { CallOptions, JobLogRead, ListOptions, Pages, PlatformClient, ResourceId } from '../port.ts'
import { segmentOf, type Api } from './api.ts'
import { testReport, type RestTestReport } from '../reports/test-report-json.ts'
import type { JobFacts, ObservedJob, Runner } from '../../model/observation.ts'
import type { Streamed } from './http.ts'

const text = maybe(wireText)
const time = maybe(wireTime)
const seconds = maybe(wireSeconds)
const flag = maybe(wireFlag)

const processable = {
  id: wireId,
  status: wireStatus,
  name: text,
  stage: text,
  ref: text,
  allow_failure: flag,
  coverage: maybe(wirePercent),
  created_at: time,
  started_at: time,
  finished_at: time,
  duration: seconds,
  queued_duration: seconds,
  failure_reason: text,
  web_url: maybe(wireUrl),
  user: maybe(z.object({ id: maybe(wireId), username: text })),
  commit: maybe(z.object({ id: wireText, message: maybe(wireMessage), committed_date: time })),
}

const archive = z.object({ filename: wireText, size: maybe(wireCount) })

/** An artifact of an unknown type is accepted if the type is a word. */
const artifact = z.object({
  file_type: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/),
  filename: maybe(wireText),
  size: maybe(wireCount),
})

/** `GET /projects/:id/pipelines/:pipeline_id/jobs`. */
export const restJob = z.object({
  ...processable,
  runner: maybe(
    z.object({ id: wireId, description: text, runner_type: text, active: flag, paused: flag, is_shared: flag }),
  ),
  tag_list: maybe(wireTexts),
  artifacts_file: maybe(archive),
  artifacts: maybe(
    wireList.transform(items => items.slice(0, maxList).flatMap(item => artifact.safeParse(item).data ?? [])),
  ),
})
export type RestJob = z.infer<typeof restJob>

/** `GET /projects/:id/pipelines/:pipeline_id/bridges`. */
export const restBridge = z.object({
  ...processable,
  downstream_pipeline: maybe(z.object({ id: wireId, project_id: maybe(wireId) })),
})
export type RestBridge = z.infer<typeof restBridge>

export interface JobCalls extends Pick<PlatformClient, 'jobLog'> {
  /** The jobs of all attempts, also retried ones, without bridges. */
  pipelineJobs(project: ResourceId, pipelineId: number, options: ListOptions): Pages<RestJob>
  pipelineBridges(project: ResourceId, pipelineId: number, options: ListOptions): Pages<RestBridge>
  /** Streams one of a job's artifacts, or a file in its archive, to `read`. Errors of `read` are passed on. */
  jobArtifact<T>(
    project: ResourceId,
    jobId: number,
    which: { readonly type: string } | { readonly path: string },
    options: CallOptions,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<T>
  /** The test reports of a pipeline's latest jobs, as parsed by the platform. */
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

/** Maximum number of artifacts that are read of a job. The platform has about forty types. */
const maxArtifacts = 100

export function observedJob(job: RestJob): ObservedJob {
  const artifacts = { artifacts: archiveOf(job), artifactSizes: sizesOf(job) }
  return observed(job, { ...jobFacts('job', job), ...artifacts, runner: runnerOf(job), tags: job.tag_list })
}

export function observedBridge(bridge: RestBridge): ObservedJob {
  const downstream = bridge.downstream_pipeline
  return observed(bridge, {
    ...jobFacts('bridge', bridge),
    downstream: downstream && knownOf({ pipelineId: downstream.id, projectId: downstream.project_id }),
  })
}

function observed(job: RestJob | RestBridge, facts: JobFacts): ObservedJob {
  const times = { createdAt: job.created_at, startedAt: job.started_at, finishedAt: job.finished_at }
  return { id: job.id, facts: knownOf(facts), times: knownOf(times) }
}

function jobFacts(kind: JobFacts['kind'], job: RestJob | RestBridge): JobFacts {
  return {
    kind,
    status: job.status,
    name: job.name,
    stage: job.stage,
    duration: job.duration,
    queuedDuration: job.queued_duration,
    allowFailure: job.allow_failure,
    failureReason: job.status === 'failed' ? job.failure_reason : undefined,
    user: job.user && anyKnown(job.user),
    coverage: job.coverage,
    url: job.web_url,
  }
}

/** The runner without its tags: REST reports only the tags that the job requires (`tag_list`). */
function runnerOf({ runner }: RestJob): Runner | undefined {
  if (runner === undefined) return undefined
  return knownOf({
    id: runner.id,
    description: runner.description,
    type: runner.runner_type,
    active: runner.active ?? (runner.paused === undefined ? undefined : !runner.paused),
    isShared: runner.is_shared,
  })
}

function archiveOf(job: RestJob): JobFacts['artifacts'] {
  const archive = job.artifacts_file ?? job.artifacts?.find(artifact => artifact.file_type === 'archive')
  return archive?.filename === undefined ? undefined : knownOf({ filename: archive.filename, size: archive.size })
}

/** Bytes by type of artifact. Artifacts of the same type are added up. Undefined if no artifact has a size. */
function sizesOf({ artifacts = [] }: RestJob): JobFacts['artifactSizes'] {
  const sizes = new Map<string, number>()
  for (const { file_type: type, size } of artifacts.slice(0, maxArtifacts)) {
    if (size !== undefined) sizes.set(type, (sizes.get(type) ?? 0) + size)
  }
  return sizes.size === 0 ? undefined : Object.fromEntries(sizes)
}
