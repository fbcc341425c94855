// Trends, the figures of pipelines and jobs over time: what one chunk adds to them, and the possible queries. Pure.
import { hasFailed, hasSucceeded } from '../../../model/status.ts'
import type { Bins } from '../../../lib/log-bins.ts'
import { branchClassOf, type BranchClass } from '../../../model/pipeline.ts'
import { plainText } from '../sql/plain-text.ts'
import { carriesPipeline, type Chunk } from '../../../model/chunk.ts'
import type { Failures } from '../read-models/earlier-failures.ts'
import type { Millis } from '../../../model/instant.ts'
import type { FiguresQuery } from './project-scope.ts'

export const hour = 3_600_000
export const day = 86_400_000

/** The period of a figure, ms. */
export type TrendStep = typeof hour | typeof day

/** How long hourly figures are stored, ms; the configuration says how long daily ones are. */
export const hoursStoredFor = 4 * day

/** A job, a project's pipelines (job ''), or all pipelines (project 0). */
export interface TrendSubject {
  readonly instance: string
  readonly projectId: number
  readonly job: string
}

/** What figures are grouped by. */
export interface TrendKind {
  readonly branch: BranchClass
  /** What started the pipeline, such as `push`; empty if unknown, and for jobs: there would be too many rows. */
  readonly source: string
  /** The pipeline's name (`foldedName`); empty if it has none, for all pipelines together, and for jobs. */
  readonly pipelineName: string
}

export interface TrendFigures {
  readonly runs: number
  readonly failed: number
  /** Jobs that failed, and passed when they ran again in the same pipeline. */
  readonly flaky: number
  /** Sum of the durations, ms. */
  readonly totalMs: number
  readonly durations: Bins
  readonly queues: Bins
}

export interface TrendRow extends TrendSubject, TrendFigures {
  /** Full path, as last known. */
  readonly project: string
  /** Start of the hour or day, UTC. */
  readonly bucket: Millis
}

export type StoredTrendRow = TrendRow & TrendKind

/** One pipeline or job that ended. */
export interface TrendOutcome extends TrendSubject, TrendKind {
  readonly project: string
  readonly endedAt: Millis
  readonly failed: boolean
  readonly flaky: boolean
  /** Whole ms. */
  readonly tookMs: number
  readonly queuedMs: number | undefined
}

export type TrendFilter = { readonly [Name in keyof TrendKind]?: TrendKind[Name] | undefined }

export interface TrendQuery extends TrendFilter, FiguresQuery {
  readonly step: TrendStep
}

/** Sums of a project's pipelines of one class of branches. */
export interface TrendPlace {
  readonly project: string
  readonly branch: BranchClass
  readonly runs: number
  readonly failed: number
  /** ms. */
  readonly totalMs: number
}

/**
 * Rankings by mean duration, sum of durations, number of failures, of flaky runs, or of all runs. A job that ran only once is not among the
 * slowest, and one that never failed not among the failing.
 */
export const trendOrders = ['slowest', 'total', 'failing', 'flakiest', 'runs'] as const
export type TrendOrder = (typeof trendOrders)[number]

/** A query that only the stored runs can answer, because figures are not stored by branch or runner. */
export interface RetainedQuery extends TrendQuery {
  readonly projectId?: number | undefined
  readonly ref?: string | undefined
  /** The description of the runner: then only jobs have figures. */
  readonly runner?: string | undefined
}

export interface RetainedFigures {
  readonly figures: TrendReads
  /** How many pipelines were read. */
  readonly pipelines: number
  /** Set if there were too many: only those created since then were read. */
  readonly backTo?: Millis | undefined
}

/** A row of a ranking, over the whole period. */
export type TrendTotal = Omit<TrendRow, 'bucket'>

export interface TrendExtent {
  /** Full path; empty for all projects. */
  readonly project: string
  readonly first: Millis
  readonly last: Millis
}

export interface TrendReads {
  /** In order of time; of all pipelines, those of a project, or one job. */
  series(subject: Partial<TrendSubject>, query: TrendQuery): Promise<readonly TrendRow[]>
  /** Projects, ranked by their pipelines. */
  projects(by: TrendOrder, query: TrendQuery, limit: number): Promise<readonly TrendTotal[]>
  /** Jobs of one project, or of all. */
  jobs(
    by: TrendOrder,
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly TrendTotal[]>
  /** These jobs of a project (job '': its pipelines), separately by class of branch and name of pipeline; in any order. */
  ofJobs(
    subject: Omit<TrendSubject, 'job'>,
    jobs: readonly string[],
    query: TrendQuery,
  ): Promise<readonly (TrendTotal & Pick<TrendKind, 'branch' | 'pipelineName'>)[]>
}

export interface TrendViews extends TrendReads {
  /** The first and the last day with figures; undefined without any. */
  extent(subject: Partial<TrendSubject>): Promise<TrendExtent | undefined>
  /** Full paths of the projects with figures, as last known; at most `limit`. */
  paths(limit: number): Promise<readonly string[]>
  /** Projects by class of branches, those with the most pipelines first. */
  places(query: TrendQuery, limit: number): Promise<readonly TrendPlace[]>
  /** The names of pipelines with figures, in order, each with its project. */
  names(
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly { readonly name: string; readonly project: string }[]>
  /** Computes figures from the stored runs, a limited number of them, the newest first. */
  retained(query: RetainedQuery): Promise<RetainedFigures>
  /**
   * Counts chunks that are not counted yet: those in memory of some projects, or else about `limit` whose runs are read. Returns how many. Those in
   * memory for less than `age`, ms, may wait (default: 0).
   */
  takeIn(limit: number, age?: number): Promise<number>
  /** Deletes daily figures older than `keep`, ms, and hourly ones after `hoursStoredFor`; returns how many. */
  prune(keep: number): Promise<number>
}

/**
 * The figures that one chunk adds: its pipeline, once for the project and once for all pipelines, and its jobs. `failedBefore`: the failed jobs of
 * this chunk and of earlier chunks of the same run. `pipelineName`: the folded name.
 */
export function outcomesOf(chunk: Chunk, failedBefore: Failures, pipelineName: string): TrendOutcome[] {
  const { key, project, pipeline } = chunk
  const path = plainText(project.path ?? project.name ?? '')
  const { status, queuedDuration, source = '' } = pipeline.facts
  const kind = {
    branch: branchClassOf(pipeline.facts, project),
    source: plainText(source.slice(0, maxSourceLength)),
    pipelineName,
  }
  const base = { instance: key.instance, projectId: project.id, project: path }
  const outcomes: TrendOutcome[] = []
  if (carriesPipeline(chunk) && !pipeline.incomplete && isOutcome(status)) {
    const ofProject = {
      ...{ ...base, ...kind, job: '', endedAt: pipeline.end, failed: hasFailed(status), flaky: false },
      tookMs: tookMs(pipeline.start, pipeline.end),
      queuedMs: queuedMs(queuedDuration),
    }
    outcomes.push(ofProject, { ...ofProject, instance: '', projectId: 0, project: '', pipelineName: '' })
  }
  for (const job of chunk.jobs) {
    if (job.kind !== 'job' || job.name === undefined || job.name === '') continue
    if (job.startedAt === undefined || !isOutcome(job.status)) continue
    const flaky = hasSucceeded(job.status) && (failedBefore.get(job.name) ?? Infinity) < job.id
    outcomes.push({
      ...base,
      ...{ branch: kind.branch, source: '', pipelineName: '' },
      job: trendJob(job.name),
      endedAt: job.end,
      failed: hasFailed(job.status),
      flaky,
      tookMs: tookMs(job.start, job.end),
      queuedMs: queuedMs(job.queuedDuration),
    })
  }
  return outcomes
}

/** UTF-16 units; the platform's sources are shorter. */
const maxSourceLength = 50

/** The name under which a job is counted. */
export function trendJob(name: string): string {
  return plainText(name.slice(0, 255))
}

/** Other statuses say nothing about durations and failure rates. */
function isOutcome(status: string): status is 'success' | 'failed' {
  return hasSucceeded(status) || hasFailed(status)
}

function tookMs(start: Millis, end: Millis): number {
  return Math.max(0, Math.round(end - start))
}

function queuedMs(seconds: number | undefined): number | undefined {
  return seconds === undefined || seconds < 0 ? undefined : seconds * 1000
}
