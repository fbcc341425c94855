// Figures over time: what one chunk adds to them, and how long they stay. Pure; the SQL is beside.
import type { Bins } from '../../lib/log-bins.ts'
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

/** One pipeline or one job that came to its end. */
export interface TrendOutcome extends TrendSubject {
  readonly project: string
  readonly endedAt: Millis
  readonly failed: boolean
  readonly flaky: boolean
  /** Whole ms. */
  readonly tookMs: number
  readonly queuedMs: number | undefined
}

export interface TrendQuery {
  readonly step: TrendStep
  readonly since: Millis
  readonly until: Millis
}

/** A ranking's row: figures of the whole time. */
export type TrendTotal = Omit<TrendRow, 'bucket'>

export interface TrendViews {
  /** By time; of all pipelines, of a project's, or of one job. */
  series(subject: Partial<TrendSubject>, query: TrendQuery): Promise<readonly TrendRow[]>
  /** The projects with the most runs. */
  projects(query: TrendQuery, limit: number): Promise<readonly TrendTotal[]>
  /** Jobs by mean duration, or by how often they were flaky; of one project, or of all. */
  jobs(
    by: 'slowest' | 'flakiest',
    query: TrendQuery & { readonly projectId?: number | undefined },
    limit: number,
  ): Promise<readonly TrendTotal[]>
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
 * earlier chunks of the same run.
 */
export function outcomesOf(chunk: Chunk, failedBefore: Failures): TrendOutcome[] {
  const { key, project, pipeline } = chunk
  const path = plainText(project.path ?? project.name ?? '')
  const base = { instance: key.instance, projectId: project.id, project: path }
  const outcomes: TrendOutcome[] = []
  const { status, queuedDuration } = pipeline.facts
  if (carriesPipeline(chunk) && !pipeline.incomplete && isOutcome(status)) {
    const ofProject = {
      ...{ ...base, job: '', endedAt: pipeline.end, failed: status === 'failed', flaky: false },
      tookMs: tookMs(pipeline.start, pipeline.end),
      queuedMs: queuedMs(queuedDuration),
    }
    outcomes.push(ofProject, { ...ofProject, instance: '', projectId: 0, project: '' })
  }
  for (const job of chunk.jobs) {
    if (job.kind !== 'job' || job.name === undefined || job.name === '') continue
    if (job.startedAt === undefined || !isOutcome(job.status)) continue
    const flaky = job.status === 'success' && (failedBefore.get(job.name) ?? Infinity) < job.id
    outcomes.push({
      instance: key.instance,
      projectId: project.id,
      project: path,
      job: plainText(job.name.slice(0, 255)),
      endedAt: job.end,
      failed: job.status === 'failed',
      flaky,
      tookMs: tookMs(job.start, job.end),
      queuedMs: queuedMs(job.queuedDuration),
    })
  }
  return outcomes
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
