// Figures over time: what one chunk adds to them, and how long they stay. Pure; the SQL is beside.
import type { Bins } from '../../lib/log-bins.ts'
import { branchClassOf, type BranchClass } from '../../model/branch-class.ts'
import { plainText } from '../sql/plain-text.ts'
import { carriesPipeline, type Chunk } from '../../model/chunk.ts'
import type { Failures } from '../read-models/earlier-failures.ts'
import type { Millis } from '../../model/instant.ts'

export const hour = 3_600_000
export const day = 86_400_000

/** How long a figure covers, ms. Hours are kept for a few days, days for as long as is wanted. */
export type TrendStep = typeof hour | typeof day

/** How long figures of an hour are stored, ms; no longer than those of a day. */
export const hoursStoredFor = 4 * day

/** Whose figures: of a job, of a project's pipelines (job ''), of all pipelines (project 0). */
export interface TrendSubject {
  readonly instance: string
  readonly projectId: number
  readonly job: string
}

/** What pipelines have in common whose figures are counted together. */
export interface TrendKind {
  readonly branch: BranchClass
  /** What started the pipeline, as `push`; empty where that is not known, and of jobs: a row for each would be too many. */
  readonly source: string
  /** The pipeline's name, folded (see pipeline-names.ts); empty without one, among all pipelines, and of jobs. */
  readonly pipelineName: string
}

export interface TrendFigures {
  readonly runs: number
  readonly failed: number
  /** Failed, and passed when the same job ran again for the same commit. */
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

/** A row as it is stored: of pipelines of one kind. */
export type StoredTrendRow = TrendRow & TrendKind

/** One pipeline or one job that came to its end. */
export interface TrendOutcome extends TrendSubject, TrendKind {
  readonly project: string
  readonly endedAt: Millis
  readonly failed: boolean
  readonly flaky: boolean
  /** Whole ms. */
  readonly tookMs: number
  readonly queuedMs: number | undefined
}

/** Of which pipelines; what is undefined does not filter. */
export type TrendFilter = { readonly [Name in keyof TrendKind]?: TrendKind[Name] | undefined }

export interface TrendQuery extends TrendFilter {
  readonly step: TrendStep
  readonly since: Millis
  readonly until: Millis
}

/**
 * What rankings go by: the mean duration, the sum of durations, how many failed, how many were flaky, or how many ran. A single run
 * has no place among the slowest, and what never failed none among those that failed.
 */
export const trendOrders = ['slowest', 'total', 'failing', 'flakiest', 'runs'] as const
export type TrendOrder = (typeof trendOrders)[number]

/** Figures of runs that are still stored: of an exact branch, of a runner. */
export interface RetainedQuery extends TrendQuery {
  readonly projectId?: number | undefined
  readonly ref?: string | undefined
  /** The description of the runner: then jobs alone have figures. */
  readonly runner?: string | undefined
}

export interface RetainedFigures {
  readonly figures: TrendReads
  /** So many pipelines have been read. */
  readonly pipelines: number
  /** Set when there were too many: those created since then were read, older ones were not. */
  readonly backTo?: Millis | undefined
}

/** A ranking's row: figures of the whole time. */
export type TrendTotal = Omit<TrendRow, 'bucket'>

export interface TrendExtent {
  /** Full path; empty of all projects. */
  readonly project: string
  readonly first: Millis
  readonly last: Millis
}

/** What figures are asked for. */
export interface TrendReads {
  /** By time; of all pipelines, of a project's, or of one job. */
  series(subject: Partial<TrendSubject>, query: TrendQuery): Promise<readonly TrendRow[]>
  /** Projects in that order, by their pipelines. */
  projects(by: TrendOrder, query: TrendQuery, limit: number): Promise<readonly TrendTotal[]>
  /** Jobs in that order; of one project, or of all. */
  jobs(
    by: TrendOrder,
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly TrendTotal[]>
  /** Figures of these jobs of a project (job '': its pipelines), for each class of branch and name of pipeline apart; in no order. */
  ofJobs(
    subject: Omit<TrendSubject, 'job'>,
    jobs: readonly string[],
    query: TrendQuery,
  ): Promise<readonly (TrendTotal & Pick<TrendKind, 'branch' | 'pipelineName'>)[]>
}

export interface TrendViews extends TrendReads {
  /** When its first and its last day of figures begin; undefined without any. */
  extent(subject: Partial<TrendSubject>): Promise<TrendExtent | undefined>
  /** Names of pipelines that have figures, of a project or of all, in order, each with its project. */
  names(
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly { readonly name: string; readonly project: string }[]>
  /** Figures of the runs that are stored. Reads a bounded number of them, the newest first. */
  retained(query: RetainedQuery): Promise<RetainedFigures>
  /**
   * Reads the chunks that are new since the last time, at most `limit`, and adds them up in memory for `takeIn` to write. Answers
   * whether there may be more to read, or so much is read that it should be written. A store that reads nothing ahead says 'all'.
   */
  readAhead(limit: number): Promise<'more' | 'all' | 'enough'>
  /** Writes what was read ahead and at most `limit` chunks beyond; answers how many those were. */
  takeIn(limit: number): Promise<number>
  /** Removes figures of days that are older than `keep`, ms, and those of hours in their own time. Answers how many. */
  prune(keep: number): Promise<number>
}

/**
 * What one chunk adds: its pipeline, as the project's and as one of all, and its jobs. `failedBefore`: what failed in it, and in the
 * earlier chunks of the same run. `pipelineName`: under which name it is counted.
 */
export function outcomesOf(chunk: Chunk, failedBefore: Failures, pipelineName: string): TrendOutcome[] {
  const { key, project, pipeline } = chunk
  const path = plainText(project.path ?? project.name ?? '')
  const { status, queuedDuration, source = '' } = pipeline.facts
  const kind = {
    branch: branchClassOf(pipeline.facts, project),
    source: plainText(source.slice(0, longestSource)),
    pipelineName,
  }
  const base = { instance: key.instance, projectId: project.id, project: path }
  const outcomes: TrendOutcome[] = []
  if (carriesPipeline(chunk) && !pipeline.incomplete && isOutcome(status)) {
    const ofProject = {
      ...{ ...base, ...kind, job: '', endedAt: pipeline.end, failed: status === 'failed', flaky: false },
      tookMs: tookMs(pipeline.start, pipeline.end),
      queuedMs: queuedMs(queuedDuration),
    }
    outcomes.push(ofProject, { ...ofProject, instance: '', projectId: 0, project: '', pipelineName: '' })
  }
  for (const job of chunk.jobs) {
    if (job.kind !== 'job' || job.name === undefined || job.name === '') continue
    if (job.startedAt === undefined || !isOutcome(job.status)) continue
    const flaky = job.status === 'success' && (failedBefore.get(job.name) ?? Infinity) < job.id
    outcomes.push({
      ...base,
      ...{ branch: kind.branch, source: '', pipelineName: '' },
      job: trendJob(job.name),
      endedAt: job.end,
      failed: job.status === 'failed',
      flaky,
      tookMs: tookMs(job.start, job.end),
      queuedMs: queuedMs(job.queuedDuration),
    })
  }
  return outcomes
}

/** The platform's words are shorter, UTF-16 units. */
const longestSource = 50

/** Under which name a job is counted. */
export function trendJob(name: string): string {
  return plainText(name.slice(0, 255))
}

/** Canceled, skipped and waiting ones say nothing of how long a thing takes or how often it fails. */
function isOutcome(status: string): status is 'success' | 'failed' {
  return status === 'success' || status === 'failed'
}

function tookMs(start: Millis, end: Millis): number {
  return Math.max(0, Math.round(end - start))
}

function queuedMs(seconds: number | undefined): number | undefined {
  return seconds === undefined || seconds < 0 ? undefined : seconds * 1000
}
