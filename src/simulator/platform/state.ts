// The state of the simulated platform: pipelines with all the jobs that they ever had; the plan of each pipeline (its jobs as in a CI file, how each
// job will end, and how users react); and the status that follows from the jobs. `lifecycle.ts` changes the state, and `payloads.ts` creates webhooks
// from it.
import { AuditRecords, IncidentRecords } from './records.ts'
import type { SimProject, SimRunner, SimUser } from './world.ts'

export type SimStatus = 'created' | 'pending' | 'running' | 'success' | 'failed' | 'canceled' | 'skipped' | 'manual'

/** A status change of a job or pipeline. */
export interface Turn {
  /** The Unix time of the simulated platform in ms, like all times in this file. */
  readonly at: number
  readonly status: SimStatus
}

export interface SimJob {
  readonly id: number
  readonly plan: JobPlan
  readonly kind: 'job' | 'bridge'
  readonly createdAt: number
  status: SimStatus
  /** Whether a newer job with the same name has replaced this job. */
  retried: boolean
  /** The user who started the job. If nobody did, the user who started the pipeline. */
  user: SimUser
  queuedAt: number | undefined
  startedAt: number | undefined
  finishedAt: number | undefined
  runner: SimRunner | undefined
  failureReason: string | undefined
  /** The test coverage of the job in percent. */
  coverage: number | undefined
  /** The size of the job's artifacts in bytes. */
  artifactsSize: number | undefined
  /** The child pipeline of a bridge. */
  downstream: SimPipeline | undefined
  readonly history: Turn[]
}

interface SimMergeRequest {
  readonly id: number
  readonly iid: number
  readonly title: string
  readonly sourceBranch: string
  readonly targetBranch: string
}

export interface SimPipeline {
  readonly id: number
  readonly iid: number
  readonly plan: PipelinePlan
  readonly project: SimProject
  readonly user: SimUser
  readonly ref: string
  readonly sha: string
  readonly beforeSha: string
  readonly commitMessage: string
  readonly mergeRequest: SimMergeRequest | undefined
  readonly trigger: { readonly pipeline: SimPipeline; readonly bridge: SimJob } | undefined
  readonly createdAt: number
  status: SimStatus
  startedAt: number | undefined
  /** The time when the pipeline last succeeded, failed or was canceled. A retried pipeline keeps this time while it runs again. */
  finishedAt: number | undefined
  updatedAt: number
  /** All jobs of the pipeline in the order of their ids, including replaced jobs. */
  readonly jobs: SimJob[]
  readonly history: Turn[]
}

export interface FirstIds {
  readonly pipeline: number
  readonly job: number
}

/** All data of the simulated platform, and the ids that will be assigned next. */
export class PlatformState {
  readonly pipelines = new Map<number, SimPipeline>()
  readonly audit = new AuditRecords()
  readonly incidents = new IncidentRecords()
  readonly #iids = new Map<number, number>()
  #nextPipeline: number
  #nextJob: number

  constructor(first: FirstIds = { pipeline: 48_210_001, job: 312_400_001 }) {
    this.#nextPipeline = first.pipeline
    this.#nextJob = first.job
  }

  pipelineId(): number {
    return this.#nextPipeline++
  }

  /** Returns the next job id. Jobs and bridges share one sequence. */
  jobId(): number {
    return this.#nextJob++
  }

  /** Returns the next pipeline number within a project. */
  iid(projectId: number): number {
    const iid = (this.#iids.get(projectId) ?? 4_000) + 1
    this.#iids.set(projectId, iid)
    return iid
  }

  /** Returns the first canceled pipeline that was created after `since`. */
  firstCanceled(since: number): SimPipeline | undefined {
    return [...this.pipelines.values()].find(one => one.createdAt > since && one.status === 'canceled')
  }

  /** Drops old pipelines, except the latest `count` pipelines and pipelines that have not finished. */
  forget(count: number): void {
    let surplus = this.pipelines.size - count
    for (const [id, { status }] of this.pipelines) {
      if (surplus <= 0) return
      if (!isOver(status)) continue
      this.pipelines.delete(id)
      surplus -= 1
    }
  }
}

/** A commit is made 40 s before its pipeline is created or, for a triggered pipeline, before the triggering one is created. */
export function committedAt({ createdAt, trigger }: SimPipeline): number {
  const since = trigger === undefined ? createdAt : trigger.pipeline.createdAt
  return Math.floor((since - 40_000) / 1_000) * 1_000
}

/** Whether the status is final unless a user retries the pipeline or job. */
export function isOver(status: SimStatus): boolean {
  return status === 'success' || status === 'failed' || status === 'canceled' || status === 'skipped'
}

/** Returns the jobs that determine the pipeline's status: the latest job of each name, including bridges. */
export function latestJobs(pipeline: SimPipeline): SimJob[] {
  return pipeline.jobs.filter(({ retried }) => !retried)
}

/** Returns the root of a pipeline's family. It is the pipeline itself if no pipeline triggered it. */
export function rootOf(pipeline: SimPipeline): SimPipeline {
  let root = pipeline
  while (root.trigger !== undefined) root = root.trigger.pipeline
  return root
}

/**
 * Returns the number of seconds during which any job of the pipeline ran, over all attempts. Overlapping jobs count once. Returns undefined if no job
 * ran.
 */
export function durationOf(pipeline: SimPipeline): number | undefined {
  const spans = pipeline.jobs
    .flatMap(({ startedAt, finishedAt }) =>
      startedAt === undefined || finishedAt === undefined ? [] : [[startedAt, finishedAt] as const],
    )
    .sort((a, b) => a[0] - b[0])
  if (spans.length === 0) return undefined
  let busy = 0
  let reached = 0
  for (const [start, end] of spans) {
    busy += Math.max(0, end - Math.max(start, reached))
    reached = Math.max(reached, end)
  }
  return Math.round(busy / 1000)
}

/** The report types of jobs, except test reports. */
export type SimReport = 'metrics' | 'dotenv' | 'cobertura' | 'sast'

export interface JobPlan {
  readonly name: string
  readonly stage: string
  /** The minimum and the maximum duration of the job, in seconds. */
  readonly seconds: readonly [number, number]
  readonly tags: readonly string[]
  /** When the job is started. The default is `on_success`. */
  readonly when?: 'on_success' | 'on_failure' | 'always' | 'manual' | undefined
  readonly allowFailure?: boolean | undefined
  /** The failure reasons of the first runs of the job. Later runs succeed. */
  readonly fails?: readonly string[] | undefined
  /** How many times the platform retries the job automatically. */
  readonly retries?: number | undefined
  readonly environment?: { readonly name: string; readonly tier: string } | undefined
  readonly artifacts?: boolean | undefined
  readonly coverage?: boolean | undefined
  /** Whether the job has a test report. */
  readonly tests?: boolean | undefined
  /** Whether the job writes its own spans to its artifacts. */
  readonly spans?: boolean | undefined
  /** The job's reports, except test reports. The job has them only if it succeeds. */
  readonly reports?: readonly SimReport[] | undefined
  /** Makes the job a bridge. If `depend` is true, the bridge waits for the triggered pipeline and gets the same status. */
  readonly triggers?: { readonly plan: PipelinePlan; readonly depend: boolean } | undefined
}

/** An action that a user performs once, `after` seconds after the pipeline reached the status `on`. */
interface Act {
  readonly on: 'running' | 'failed' | 'manual' | 'canceled' | 'success'
  readonly after: number
  /** The kind of action. With `supersede`, a newer pipeline is created for the same ref, and this pipeline is canceled. */
  readonly does: 'retry' | 'cancel' | 'play' | 'supersede'
}

export interface PipelinePlan {
  readonly project: SimProject
  readonly source: 'push' | 'merge_request_event' | 'schedule' | 'web' | 'parent_pipeline' | 'pipeline'
  /** The name of the pipeline: `workflow:name` in the CI file. */
  readonly name?: string | undefined
  /** The name of the branch or tag. */
  readonly ref: string
  readonly tag?: boolean | undefined
  readonly user: SimUser
  readonly commitMessage: string
  /** The names of the stages in order. */
  readonly stages: readonly string[]
  readonly jobs: readonly JobPlan[]
  /** The errors in the pipeline's configuration. A pipeline with errors has no jobs. */
  readonly yamlErrors?: string | undefined
  readonly acts?: readonly Act[] | undefined
  readonly variables?: readonly { readonly key: string; readonly value: string }[] | undefined
}

/**
 * Computes the status of a pipeline from its jobs. A manual job that is allowed to fail does not block the pipeline, and a failed job that is allowed
 * to fail is only a warning. Such jobs determine the status only if there are no others.
 */
export function compositeStatus(jobs: readonly SimJob[]): SimStatus {
  const present = new Set(jobs.filter(job => !isIgnored(job)).map(({ status }) => status))
  const only = (...statuses: SimStatus[]): boolean => [...present].every(status => statuses.includes(status))
  if (present.size === 0) return jobs.some(({ status }) => status === 'failed') ? 'success' : 'skipped'
  if (only('skipped')) return jobs.some(job => isIgnored(job) && job.status === 'failed') ? 'success' : 'skipped'
  if (only('success', 'skipped')) return 'success'
  if (only('created')) return 'created'
  if (only('canceled', 'success', 'skipped')) return 'canceled'
  if (only('pending', 'created', 'skipped')) return 'pending'
  if (present.has('running') || present.has('pending')) return 'running'
  if (present.has('manual')) return 'manual'
  if (present.has('created')) return 'running'
  return 'failed'
}

/** Whether any of the jobs failed and was allowed to fail. */
export function hasWarnings(jobs: readonly SimJob[]): boolean {
  return jobs.some(({ status, plan }) => status === 'failed' && plan.allowFailure === true)
}

function isIgnored({ status, plan }: SimJob): boolean {
  return plan.allowFailure === true && (status === 'manual' || status === 'failed')
}
