// The figures of pipelines and jobs over time: what they are, how they are grouped, and the queries.
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
  /** Sum of the durations, ms. */
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
  /** The description of the runner. With it, only jobs have figures. */
  readonly runner?: string | undefined
}

export interface RetainedFigures {
  readonly figures: TrendReads
  /** How many pipelines were read. */
  readonly pipelines: number
  /** Set if there were too many pipelines: then only those created since this time were read. */
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
  /** The figures of all pipelines, of the pipelines of a project, or of one job, in order of time. */
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
  /** Projects by class of branches, those with the most pipelines first. */
  places(query: TrendQuery, limit: number): Promise<readonly TrendPlace[]>
  /** The names of pipelines with figures, in order, each with its project. */
  names(
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly { readonly name: string; readonly project: string }[]>
  /** Computes figures from the stored runs, a limited number of them, the newest first. */
  retained(query: RetainedQuery): Promise<RetainedFigures>
}
