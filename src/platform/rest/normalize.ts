// Turns REST answers about one pipeline into an observation. An item of a list has too few facts for an observation.
import { instanceOfProject } from '../../model/instance.ts'
import { mergeRequestEventOfRef, mergeRequestOfRef } from '../../model/pipeline.ts'
import { anyKnown, knownOf } from '../../model/versioned.ts'
import type { RestBridge, RestJob, RestPipeline } from './schemas.ts'
import type {
  ObservedJob,
  JobFacts,
  Observation,
  ObservedPipeline,
  PipelineFacts,
  ProjectFacts,
  Runner,
} from '../../model/observation.ts'

/** Maximum number of artifacts that are read of a job. The platform has about forty types. */
const maxArtifacts = 100

/** Facts about the pipeline that come from other answers. */
export type ExtraFacts = Pick<
  PipelineFacts,
  'mergeRequest' | 'labels' | 'variables' | 'sourcePipeline' | 'rootPipelineId' | 'traceparent'
>

export interface RestParts {
  /** Normalised base URL of the platform. */
  readonly instance: string
  /** All jobs, also retried ones. Undefined if they were not requested. */
  readonly jobs?: readonly RestJob[] | undefined
  readonly bridges?: readonly RestBridge[] | undefined
}

export type RestAnswers = RestParts &
  (
    | {
        readonly pipeline: RestPipeline
        readonly project?: ProjectFacts | undefined
        readonly extra?: ExtraFacts | undefined
      }
    /** Only jobs or bridges, of a pipeline that is already known. */
    | { readonly pipeline?: undefined; readonly pipelineId: number; readonly project: ProjectFacts }
  )

export function normalizeRest(answers: RestAnswers): Observation {
  const jobs = [...(answers.jobs ?? []).map(observedJob), ...(answers.bridges ?? []).map(observedBridge)].sort(
    (a, b) => a.id - b.id,
  )
  if (answers.pipeline === undefined) {
    const { instance, pipelineId, project } = answers
    return { key: { instance, pipelineId }, origin: 'rest', project, jobs, ...mergeRequestEventOf(answers) }
  }
  const { instance, pipeline, project, extra } = answers
  return {
    key: { instance, pipelineId: pipeline.id },
    origin: 'rest',
    project: { id: pipeline.project_id, ...projectOfPipeline(pipeline, instance), ...(project && knownOf(project)) },
    pipeline: {
      facts: knownOf({
        ...observedPipelineOf(pipeline).facts,
        stages: answers.jobs === undefined ? undefined : stagesOf(jobs),
        commit: commitOf(pipeline, answers.jobs ?? []),
        committedAt: committedAt(pipeline, answers.jobs ?? []),
        ...extra,
      }),
      times: observedPipelineOf(pipeline).times,
    },
    jobs,
    ...mergeRequestEventOf(answers),
  }
}

/** From the ref, which jobs have, too: a pipeline whose webhook was complete is not asked for itself. */
function mergeRequestEventOf({ pipeline, jobs, bridges }: RestAnswers): Pick<Observation, 'mergeRequestEvent'> {
  const ref = pipeline?.ref ?? jobs?.[0]?.ref ?? bridges?.[0]?.ref
  return knownOf({ mergeRequestEvent: mergeRequestEventOfRef(ref) })
}

/** The project's facts, from the pipeline's web URL: `{instance}/group/project/-/pipelines/1`, without `/-` on old platforms. */
export function projectOfPipeline(
  pipeline: Pick<RestPipeline, 'web_url'> & { readonly project_id?: number | undefined },
  instance: string,
): Partial<ProjectFacts> {
  const webUrl = /^(.+?)(?:\/-)?\/pipelines\/\d+$/.exec(pipeline.web_url ?? '')?.[1]
  // The platform may use another URL for itself than the configured one.
  const root = webUrl?.startsWith(`${instance}/`) === true ? instance : instanceOfProject(webUrl)
  const path = webUrl !== undefined && root !== undefined ? decoded(webUrl.slice(root.length + 1)) : undefined
  const { project_id: id } = pipeline
  return { ...(id !== undefined && { id }), ...knownOf({ path, webUrl }) }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/** What an answer or an item of a list says about the pipeline itself. */
export function observedPipelineOf(pipeline: Omit<RestPipeline, 'project_id'>): ObservedPipeline {
  const { created_at: createdAt, finished_at: finishedAt, updated_at: updatedAt } = pipeline
  return { facts: pipelineFacts(pipeline), times: knownOf({ createdAt, finishedAt, updatedAt }) }
}

function pipelineFacts(pipeline: Omit<RestPipeline, 'project_id'>): PipelineFacts {
  return {
    mergeRequest: mergeRequestOfRef(pipeline.ref),
    status: pipeline.status,
    iid: pipeline.iid,
    name: pipeline.name,
    ref: pipeline.ref,
    sha: pipeline.sha,
    beforeSha: pipeline.before_sha,
    tag: pipeline.tag,
    source: pipeline.source,
    detailedStatus: pipeline.detailed_status?.label,
    duration: pipeline.duration,
    queuedDuration: pipeline.queued_duration,
    url: pipeline.web_url,
    user: pipeline.user && anyKnown(pipeline.user),
    coverage: pipeline.coverage,
    yamlErrors: pipeline.yaml_errors,
  }
}

/** Only answers about jobs contain the commit's message. Without a message the commit is omitted, so that a webhook's message is kept. */
function commitOf(pipeline: RestPipeline, jobs: readonly RestJob[]): PipelineFacts['commit'] {
  const commit = jobs.find(job => job.commit?.message !== undefined && job.commit.id === pipeline.sha)?.commit
  return commit && knownOf({ id: commit.id, message: commit.message })
}

/** The commit's time. Only new platforms report it for pipelines, but jobs of the same commit always have it. */
function committedAt(pipeline: RestPipeline, jobs: readonly RestJob[]): number | undefined {
  const ofJob = jobs.find(job => job.commit?.committed_date !== undefined && job.commit.id === pipeline.sha)
  return pipeline.committed_at ?? ofJob?.commit?.committed_date
}

/** The stages in order. Jobs are created stage by stage with ascending IDs, and retries come later. */
function stagesOf(jobs: readonly ObservedJob[]): string[] {
  return [...new Set(jobs.map(job => job.facts.stage).filter(stage => stage !== undefined))]
}

function observedJob(job: RestJob): ObservedJob {
  const artifacts = { artifacts: archiveOf(job), artifactSizes: sizesOf(job) }
  return observed(job, { ...jobFacts('job', job), ...artifacts, runner: runnerOf(job), tags: job.tag_list })
}

function observedBridge(bridge: RestBridge): ObservedJob {
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
