// The figures of pipelines and jobs over time: their fields, their grouping, and the queries.
import type { Bins } from '../../../lib/log-bins.ts'
import type { BranchClass } from '../../../model/pipeline.ts'
import type { FiguresQuery } from '../../../core/store/ports/project-scope.ts'
import type { Millis } from '../../../model/instant.ts'

export const hour = 3_600_000
export const day = 86_400_000

/** The period that one figure covers, ms. */
export type TrendStep = typeof hour | typeof day

/** How long hourly figures are stored, ms. The configuration sets how long daily figures are stored. */
export const hoursStoredFor = 4 * day

/** The subject of a row of figures: a job, a project's pipelines (job ''), or all pipelines (project 0). */
export interface TrendSubject {
  readonly instance: string
  readonly projectId: number
  readonly job: string
}

/** The fields by which figures are grouped. */
export interface TrendKind {
  readonly branch: BranchClass
  /** What started the pipeline, such as `push`. Empty if it is unknown, and empty for jobs, because there would be too many rows. */
  readonly source: string
  /** The pipeline's name (`foldedName`). Empty if the pipeline has none, in rows of all pipelines together, and in rows of jobs. */
  readonly pipelineName: string
}

export interface TrendFigures {
  readonly runs: number
  readonly failed: number
  /** The number of jobs that failed, and passed when they ran again in the same pipeline. */
  readonly flaky: number
  /** The sum of the durations, ms. */
  readonly totalMs: number
  readonly durations: Bins
  readonly queues: Bins
}

export interface TrendRow extends TrendSubject, TrendFigures {
  /** The project's latest known full path. */
  readonly project: string
  /** The start of the row's hour or day, UTC. */
  readonly bucket: Millis
}

export type StoredTrendRow = TrendRow & TrendKind

export type TrendFilter = { readonly [Name in keyof TrendKind]?: TrendKind[Name] | undefined }

export interface TrendQuery extends TrendFilter, FiguresQuery {
  readonly step: TrendStep
}

/** The sums over a project's pipelines of one class of branches. */
export interface TrendPlace {
  readonly project: string
  readonly branch: BranchClass
  readonly runs: number
  readonly failed: number
  /** The sum of the durations, ms. */
  readonly totalMs: number
}

/**
 * Rankings by mean duration, by sum of durations, or by the number of failures, of flaky runs, or of all runs. A job that ran only once is not ranked
 * among the slowest. A job that never failed is not ranked among the failing.
 */
export const trendOrders = ['slowest', 'total', 'failing', 'flakiest', 'runs'] as const
export type TrendOrder = (typeof trendOrders)[number]

/** A query of trends that only the stored runs can answer, because figures are not stored by branch or runner. */
export interface RetainedQuery extends TrendQuery {
  readonly projectId?: number | undefined
  readonly ref?: string | undefined
  /** The description of the runner. If it is given, only jobs have figures. */
  readonly runner?: string | undefined
}

export interface RetainedFigures {
  readonly figures: TrendReads
  /** The number of pipelines that were read. */
  readonly pipelines: number
  /** The creation time of the oldest pipeline that was read; set only if there were too many pipelines to read them all. */
  readonly backTo?: Millis | undefined
}

/** A row of a ranking. Its figures cover the whole period. */
export type TrendTotal = Omit<TrendRow, 'bucket'>

export interface TrendExtent {
  /** The full path of the project; empty for all projects. */
  readonly project: string
  readonly first: Millis
  readonly last: Millis
}

export interface TrendReads {
  /** Returns the figures of all pipelines, of a project's pipelines, or of one job, in order of time. */
  series(subject: Partial<TrendSubject>, query: TrendQuery): Promise<readonly TrendRow[]>
  /** Returns projects, ranked by the figures of their pipelines. */
  projects(by: TrendOrder, query: TrendQuery, limit: number): Promise<readonly TrendTotal[]>
  /** Returns ranked jobs of one project, or of all projects. */
  jobs(
    by: TrendOrder,
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly TrendTotal[]>
  /** Returns the figures of these jobs of a project (job '': its pipelines), separately by class of branch and name of pipeline, in any order. */
  ofJobs(
    subject: Omit<TrendSubject, 'job'>,
    jobs: readonly string[],
    query: TrendQuery,
  ): Promise<readonly (TrendTotal & Pick<TrendKind, 'branch' | 'pipelineName'>)[]>
}

export interface TrendViews extends TrendReads {
  /** Returns the first and the last day with figures; undefined if there are no figures. */
  extent(subject: Partial<TrendSubject>): Promise<TrendExtent | undefined>
  /** Returns the sums of projects by class of branches, those with the most pipelines first. */
  places(query: TrendQuery, limit: number): Promise<readonly TrendPlace[]>
  /** Returns the names of pipelines that have figures, in order, each with its project. */
  names(
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly { readonly name: string; readonly project: string }[]>
  /** Computes figures from the stored runs. It reads a limited number of runs, the newest first. */
  retained(query: RetainedQuery): Promise<RetainedFigures>
}
