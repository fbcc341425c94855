// Trends of pipelines and jobs: fields, grouping, and queries.
import type { Bins } from '../../../lib/log-bins.ts'
import type { BranchClass } from '../../../model/pipeline.ts'
import type { FiguresQuery } from '../../../core/store/ports/project-scope.ts'
import type { Millis } from '../../../model/instant.ts'

export const hour = 3_600_000
export const day = 86_400_000

/** The period covered by one trend row, ms. */
export type TrendStep = typeof hour | typeof day

/** The retention of hourly trend rows, ms. The retention of daily rows is configurable. */
export const hoursStoredFor = 4 * day

/** The subject of a trend row: a job, a project's pipelines (job ''), or all pipelines (project 0). */
export interface TrendSubject {
  readonly instance: string
  readonly projectId: number
  readonly job: string
}

/** The fields by which trend rows are grouped. */
export interface TrendKind {
  readonly branch: BranchClass
  /** What triggered the pipeline, such as `push`. Empty if unknown, and always empty for jobs, because there would be too many rows. */
  readonly source: string
  /** The pipeline's name (`foldedName`). Empty if the pipeline has none, in rows for all pipelines together, and in rows for jobs. */
  readonly pipelineName: string
}

export interface TrendFigures {
  readonly runs: number
  readonly failed: number
  /** The number of jobs that failed but passed when they were rerun in the same pipeline. */
  readonly flaky: number
  /** The total duration of all runs, ms. */
  readonly totalMs: number
  readonly durations: Bins
  readonly queues: Bins
}

export interface TrendRow extends TrendSubject, TrendFigures {
  /** The latest known full path of the project. */
  readonly project: string
  /** The start of the row's hour or day, UTC. */
  readonly bucket: Millis
}

export type StoredTrendRow = TrendRow & TrendKind

export type TrendFilter = { readonly [Name in keyof TrendKind]?: TrendKind[Name] | undefined }

export interface TrendQuery extends TrendFilter, FiguresQuery {
  readonly step: TrendStep
}

/** A trends query that may be limited to one project. Projects of several instances may have the same id. */
export interface ProjectQuery extends TrendQuery {
  readonly instance?: string | undefined
  readonly projectId?: number | undefined
}

/** The sums over a project's pipelines of one branch class. */
export interface ProjectBranchTotals {
  readonly project: string
  readonly branch: BranchClass
  readonly runs: number
  readonly failed: number
  /** The total duration of all runs, ms. */
  readonly totalMs: number
}

/**
 * The rankings: by mean duration, by total duration, or by the number of failures, of flaky runs, or of all runs. A job that ran only once is not
 * ranked among the slowest. A job that never failed is not ranked among the failing.
 */
export const trendOrders = ['slowest', 'total', 'failing', 'flakiest', 'runs'] as const
/** `broken` is not offered to people: only what fails nearly always (`isBroken`), by total duration. */
export type TrendOrder = (typeof trendOrders)[number] | 'broken'

/**
 * A job with at least this number and this share of failures counts as always failing. With fewer failures, the job may just be new; with a smaller
 * share, it sometimes passes.
 */
export const broken = { failures: 5, share: 0.9 }

export function isBroken({ runs, failed }: Pick<TrendFigures, 'runs' | 'failed'>): boolean {
  return failed >= broken.failures && failed >= runs * broken.share
}

/** A trends query by branch or by runner. Only the stored runs can answer it, because trend rows contain neither. */
export interface RetainedQuery extends ProjectQuery {
  readonly ref?: string | undefined
  /** The runner's description. If it is set, only jobs are counted, not pipelines. */
  readonly runner?: string | undefined
}

export interface RetainedFigures {
  readonly figures: TrendReads
  /** The number of pipelines that were read. */
  readonly pipelines: number
  /** The creation time of the oldest pipeline that was read; set only if there were too many pipelines to read them all. */
  readonly backTo?: Millis | undefined
}

/** A row of a ranking. It covers the whole period. */
export type TrendTotal = Omit<TrendRow, 'bucket'>

export interface TrendExtent {
  /** The project's full path; empty for all projects. */
  readonly project: string
  /** The instance in the subject's newest row. Empty if the subject is all projects. */
  readonly instance: string
  readonly first: Millis
  readonly last: Millis
}

export interface TrendReads {
  /** Returns the trend rows of all pipelines, of a project's pipelines, or of one job, in chronological order. */
  series(subject: Partial<TrendSubject>, query: TrendQuery): Promise<readonly TrendRow[]>
  /** Returns projects, ranked by their pipelines. */
  projects(by: TrendOrder, query: TrendQuery, limit: number): Promise<readonly TrendTotal[]>
  /** Returns ranked jobs of one project or of all projects. */
  jobs(by: TrendOrder, query: ProjectQuery, limit: number): Promise<readonly TrendTotal[]>
  /** Returns the totals of the given jobs of a project (job '': its pipelines), separately by branch class and pipeline name, in any order. */
  ofJobs(
    subject: Omit<TrendSubject, 'job'>,
    jobs: readonly string[],
    query: TrendQuery,
  ): Promise<readonly (TrendTotal & Pick<TrendKind, 'branch' | 'pipelineName'>)[]>
}

export interface TrendViews extends TrendReads {
  /** Returns the first and last day with trend rows; undefined if there are none. */
  extent(subject: Partial<TrendSubject>): Promise<TrendExtent | undefined>
  /** Returns the sums by project and branch class, those with the most pipelines first. */
  projectBranches(query: TrendQuery, limit: number): Promise<readonly ProjectBranchTotals[]>
  /** Returns the pipeline names that have trend rows, in order, each with its project. */
  names(query: ProjectQuery, limit: number): Promise<readonly { readonly name: string; readonly project: string }[]>
  /** Computes trends from the stored runs. It reads a limited number of runs, the newest first. */
  retained(query: RetainedQuery): Promise<RetainedFigures>
}
