// The state of the simulated platform: pipelines with all jobs that ever were in them; the plan of each pipeline (its jobs as in a CI file, how each job
// will end, and what people do about it); and the status that follows from jobs. `lifecycle.ts` changes the state; `payloads.ts` makes webhooks from it.
import { AuditRecords, IncidentRecords } from './records.ts'
import type { SimProject, SimRunner, SimUser } from './world.ts'

export type SimStatus = 'created' | 'pending' | 'running' | 'success' | 'failed' | 'canceled' | 'skipped' | 'manual'

/** A change of status of a job or pipeline. */
export interface Turn {
  /** Unix ms of the simulated platform, like all times here. */
  readonly at: number
  readonly status: SimStatus
}

export interface SimJob {
  readonly id: number
  readonly plan: JobPlan
  readonly kind: 'job' | 'bridge'
  readonly createdAt: number
  status: SimStatus
  /** True if a newer job of the same name replaced it. */
  retried: boolean
  /** The user who started the job, or else the pipeline. */
  user: SimUser
  queuedAt: number | undefined
  startedAt: number | undefined
  finishedAt: number | undefined
  runner: SimRunner | undefined
  failureReason: string | undefined
  /** Percent. */
  coverage: number | undefined
  /** Bytes. */
  artifactsSize: number | undefined
  /** The child of a bridge. */
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
  /** The bridge that started it, and that bridge's pipeline. */
  readonly trigger: { readonly pipeline: SimPipeline; readonly bridge: SimJob } | undefined
  readonly createdAt: number
  status: SimStatus
  startedAt: number | undefined
  /** The time when it last succeeded, failed or was canceled. A retried pipeline keeps this time while it runs again. */
  finishedAt: number | undefined
  updatedAt: number
  /** All jobs, replaced ones included, by ID. */
  readonly jobs: SimJob[]
  readonly history: Turn[]
}

export interface FirstIds {
  readonly pipeline: number
  readonly job: number
}

/** Everything that exists on the platform, and the next IDs. */
export class PlatformState {
  readonly pipelines = new Map<number, SimPipeline>()
  /** Audit events. */
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

  /** Jobs and bridges share one sequence. */
  jobId(): number {
    return this.#nextJob++
  }

  /** The next pipeline number within a project. */
  iid(projectId: number): number {
    const iid = (this.#iids.get(projectId) ?? 4_000) + 1
    this.#iids.set(projectId, iid)
    return iid
  }

  /** The first canceled pipeline that was created after `since`. */
  firstCanceled(since: number): SimPipeline | undefined {
    return [...this.pipelines.values()].find(one => one.createdAt > since && one.status === 'canceled')
  }

  /** Keeps the latest `count` pipelines, and older ones that have not finished. */
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

/** The time of a pipeline's commit. */
export function committedAt({ createdAt, trigger }: SimPipeline): number {
  const since = trigger === undefined ? createdAt : trigger.pipeline.createdAt
  return Math.floor((since - 40_000) / 1_000) * 1_000
}

/** Whether nothing more happens unless somebody retries. */
export function isOver(status: SimStatus): boolean {
  return status === 'success' || status === 'failed' || status === 'canceled' || status === 'skipped'
}

/** The jobs that count for the status: the latest of each name, including bridges. */
export function latestJobs(pipeline: SimPipeline): SimJob[] {
  return pipeline.jobs.filter(({ retried }) => !retried)
}

/** The root of a pipeline's family: the pipeline itself if nothing triggered it. */
export function rootOf(pipeline: SimPipeline): SimPipeline {
  let root = pipeline
  while (root.trigger !== undefined) root = root.trigger.pipeline
  return root
}

/** Seconds in which any of its jobs ran, over all attempts (overlapping jobs count once); undefined if none ran. */
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

/** Reports other than those of tests. */
export type SimReport = 'metrics' | 'dotenv' | 'cobertura' | 'sast'

export interface JobPlan {
  readonly name: string
  readonly stage: string
  /** The minimum and the maximum duration, s. */
  readonly seconds: readonly [number, number]
  readonly tags: readonly string[]
  /** Default `on_success`. */
  readonly when?: 'on_success' | 'on_failure' | 'always' | 'manual' | undefined
  readonly allowFailure?: boolean | undefined
  /** The failure reasons of its first runs; later runs succeed. */
  readonly fails?: readonly string[] | undefined
  /** How often the platform retries it by itself. */
  readonly retries?: number | undefined
  readonly environment?: { readonly name: string; readonly tier: string } | undefined
  readonly artifacts?: boolean | undefined
  readonly coverage?: boolean | undefined
  /** Whether it has a test report. */
  readonly tests?: boolean | undefined
  /** Whether it writes spans of its own to its artifacts. */
  readonly spans?: boolean | undefined
  /** Its other reports, if it succeeds. */
  readonly reports?: readonly SimReport[] | undefined
  /** Makes it a bridge. `depend`: it waits for the triggered pipeline and takes over its status. */
  readonly triggers?: { readonly plan: PipelinePlan; readonly depend: boolean } | undefined
}

/** Something that a person does once, `after` seconds after the pipeline reached the status `on`. */
interface Act {
  readonly on: 'running' | 'failed' | 'manual' | 'canceled' | 'success'
  readonly after: number
  /** `supersede`: a newer pipeline of the same ref is created, and this one is canceled. */
  readonly does: 'retry' | 'cancel' | 'play' | 'supersede'
}

export interface PipelinePlan {
  readonly project: SimProject
  readonly source: 'push' | 'merge_request_event' | 'schedule' | 'web' | 'parent_pipeline' | 'pipeline'
  /** `workflow:name` of the CI file. */
  readonly name?: string | undefined
  /** A branch, or a tag's name. */
  readonly ref: string
  readonly tag?: boolean | undefined
  readonly user: SimUser
  readonly commitMessage: string
  /** In order. */
  readonly stages: readonly string[]
  readonly jobs: readonly JobPlan[]
  /** The errors in its configuration: it then has no jobs. */
  readonly yamlErrors?: string | undefined
  readonly acts?: readonly Act[] | undefined
  readonly variables?: readonly { readonly key: string; readonly value: string }[] | undefined
}

/**
 * A manual job that may fail does not block, and a failed job that may fail is only a warning. Both determine the status only if there are no other
 * jobs.
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

/** True if there are failures that are allowed. */
export function hasWarnings(jobs: readonly SimJob[]): boolean {
  return jobs.some(({ status, plan }) => status === 'failed' && plan.allowFailure === true)
}

function isIgnored({ status, plan }: SimJob): boolean {
  return plan.allowFailure === true && (status === 'manual' || status === 'failed')
}
