// Requests the parts of one pipeline and combines the responses into an observation. A list item alone does not contain enough facts for one.
import { allOf } from './pages.ts'
import { errorOfDetails } from './errors.ts'
import { knownOf } from '../../model/versioned.ts'
import { mergeRequestEventOfRef } from '../../model/pipeline.ts'
import type { JobCalls, RestJob } from './jobs.ts'
import {
  observedPipelineOf,
  projectOfPipeline,
  type PipelineCalls,
  type ReadVariables,
  type RestPipeline,
} from './pipelines.ts'
import { PlatformError, type AskedPipeline, type Pages, type PipelineAnswers } from '../port.ts'
import type { Observation, ObservedJob, PipelineFacts, ProjectFacts } from '../../model/observation.ts'

/** Facts about the pipeline that come from the responses to other requests. */
export type ExtraFacts = Pick<
  PipelineFacts,
  'mergeRequest' | 'labels' | 'variables' | 'sourcePipeline' | 'rootPipelineId' | 'traceparent'
>

export interface RestParts {
  /** Normalised base URL of the platform. */
  readonly instance: string
  /** All jobs of the pipeline, including retried ones; undefined if they were not requested. */
  readonly jobs?: readonly RestJob[] | undefined
  readonly bridges?: readonly RestJob[] | undefined
}

export type RestAnswers = RestParts &
  (
    | {
        readonly pipeline: RestPipeline
        readonly project?: ProjectFacts | undefined
        readonly extra?: ExtraFacts | undefined
      }
    /** Responses with jobs or bridges only, because the pipeline itself is already known. */
    | { readonly pipeline?: undefined; readonly pipelineId: number; readonly project: ProjectFacts }
  )

/** Requests the parts of one pipeline one by one, and combines the responses into one observation. */
export function answersAbout(
  calls: PipelineCalls & Pick<JobCalls, 'pipelineJobs' | 'pipelineBridges'>,
  instance: string,
  { pipelineId, project, mergeRequest }: AskedPipeline,
): PipelineAnswers {
  const { id } = project
  let parts: RestParts = { instance }
  let extra: ExtraFacts = { mergeRequest }
  let pipeline: RestPipeline | undefined
  let variables: ReadVariables | undefined
  return {
    ask: async (part, call) => {
      switch (part) {
        case 'pipeline':
          pipeline = await calls.pipeline(id, pipelineId, call)
          return true
        case 'traceparent':
          variables ??= await calls.pipelineVariables(id, pipelineId, call)
          extra = { ...extra, traceparent: variables.traceparent }
          return true
        case 'variables':
          variables ??= await calls.pipelineVariables(id, pipelineId, call)
          extra = { ...extra, variables: variables.allowed }
          return true
        case 'jobs': {
          const { items, left } = await listed(part, calls.pipelineJobs(id, pipelineId, call))
          parts = { ...parts, jobs: items }
          return left === 0
        }
        case 'bridges': {
          const { items, left } = await listed(part, calls.pipelineBridges(id, pipelineId, call))
          parts = { ...parts, bridges: items }
          return left === 0
        }
      }
    },
    askLabels: async (of, call) => {
      extra = { ...extra, labels: await calls.changeLabels(of.targetProjectId ?? id, of.iid, call) }
    },
    observation: () =>
      pipeline === undefined
        ? normalizeRest({ ...parts, pipelineId, project })
        : normalizeRest({ ...parts, pipeline, project, extra: knownOf(extra) }),
  }
}

async function listed<T>(part: 'jobs' | 'bridges', pages: Pages<T>) {
  try {
    return await allOf(pages)
  } catch (error) {
    const isRefusal = error instanceof PlatformError && (error.kind === 'forbidden' || error.kind === 'not-found')
    throw isRefusal ? errorOfDetails(part, error) : error
  }
}

export function normalizeRest(answers: RestAnswers): Observation {
  const jobs = [...(answers.jobs ?? []), ...(answers.bridges ?? [])]
    .map(({ id, facts, times }): ObservedJob => ({ id, facts, times }))
    .sort((a, b) => a.id - b.id)
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

/**
 * Derives the merge request event from the ref. The jobs' refs are also used, because the pipeline itself is not requested if its webhook was
 * complete.
 */
function mergeRequestEventOf({ pipeline, jobs, bridges }: RestAnswers): Pick<Observation, 'mergeRequestEvent'> {
  const ref = pipeline?.ref ?? jobs?.[0]?.ref ?? bridges?.[0]?.ref
  return knownOf({ mergeRequestEvent: mergeRequestEventOfRef(ref) })
}

/**
 * Returns the facts about the commit. Only job responses contain the commit message. Without a message the commit is omitted, so that a message from
 * a webhook is kept.
 */
function commitOf(pipeline: RestPipeline, jobs: readonly RestJob[]): PipelineFacts['commit'] {
  const commit = jobs.find(job => job.commit?.message !== undefined && job.commit.id === pipeline.sha)?.commit
  return commit && knownOf({ id: commit.id, message: commit.message })
}

/** Returns the commit's time. Only newer platforms report it for pipelines, but jobs of the same commit always have it. */
function committedAt(pipeline: RestPipeline, jobs: readonly RestJob[]): number | undefined {
  const ofJob = jobs.find(job => job.commit?.committedAt !== undefined && job.commit.id === pipeline.sha)
  return pipeline.committed_at ?? ofJob?.commit?.committedAt
}

/** Returns the stages in order. The platform creates jobs stage by stage with ascending IDs, and creates retries later. */
function stagesOf(jobs: readonly ObservedJob[]): string[] {
  return [...new Set(jobs.map(job => job.facts.stage).filter(stage => stage !== undefined))]
}
