// Computes the runner time of jobs: how long they ran, in total and by stage, what that costs according to a price table, and whether it was useful
// or wasted. Pure.
import { isFinished, hasFailed, wasCanceled, type Status } from './status.ts'
import type { JobView } from './job.ts'
import type { ProjectFacts } from './observation.ts'

/** The durations of the finished jobs of one stage. */
export interface StageDurations {
  /** The name of the stage; empty if it is unknown. */
  readonly stage: string
  /** The duration of each job in seconds, with fractions. */
  readonly seconds: readonly number[]
}

/** Groups the durations of jobs by stage. Stages are in the order of their jobs; stages without a finished job are omitted. */
export function durationsByStage(jobs: readonly JobView[]): StageDurations[] {
  const stages = new Map<string, number[]>()
  for (const job of jobs) {
    const seconds = secondsOf(job)
    if (seconds === undefined) continue
    const stage = job.stage ?? ''
    const known = stages.get(stage)
    if (known === undefined) stages.set(stage, [seconds])
    else known.push(seconds)
  }
  return [...stages].map(([stage, seconds]) => ({ stage, seconds }))
}

/**
 * The time in seconds that a job occupied a runner. Undefined for a bridge, which needs no runner, and for a job that never ran or is still running.
 */
export function computeSeconds(job: JobView): number | undefined {
  return job.kind === 'bridge' ? undefined : secondsOf(job)
}

/**
 * The job's duration, s: as reported by the platform, or else the difference between its finish and its start. Undefined for a job that never ran or
 * is still running.
 */
function secondsOf({ status, duration, startedAt, finishedAt }: JobView): number | undefined {
  if (!isFinished(status)) return undefined
  const timed = startedAt === undefined || finishedAt === undefined ? undefined : (finishedAt - startedAt) / 1000
  return [duration, timed].find(seconds => seconds !== undefined && Number.isFinite(seconds) && seconds >= 0)
}

export interface Rate {
  readonly name: string
  readonly perMinute: number
  /** The factor by which the job's minutes are multiplied. */
  readonly factor: number
}

/** Returns the rate for the minutes of a job; undefined if the price table has none. */
export type RateOf = (job: JobView, project: ProjectFacts, instance?: string) => Rate | undefined

/** The unrounded cost of a job, and the name of its rate. */
export interface Price {
  readonly rate: string
  readonly cost: number
}

/** Returns the cost of a job; undefined if the job occupied no runner, or if the price table has no rate for it. */
export function priceOf(
  job: JobView,
  project: ProjectFacts,
  rateOf: RateOf | undefined,
  instance?: string,
): Price | undefined {
  const seconds = computeSeconds(job)
  const rate = seconds === undefined ? undefined : rateOf?.(job, project, instance)
  if (seconds === undefined || rate === undefined) return undefined
  return { rate: rate.name, cost: (seconds / 60) * rate.perMinute * rate.factor }
}

export type ComputePurpose = 'retried' | 'superseded' | 'failed' | 'useful'

/**
 * Whether a job's runner time was useful, or why it was wasted. If several reasons apply, the first in this order is returned: `retried`,
 * `superseded`, `failed`. `superseded`: the job's pipeline was canceled when a newer one of its ref already existed.
 */
export function computePurposeOf(
  { retried, status }: { readonly retried: boolean; readonly status: Status },
  superseded: boolean,
): ComputePurpose {
  if (retried) return 'retried'
  if (wasCanceled(status) && superseded) return 'superseded'
  return hasFailed(status) ? 'failed' : 'useful'
}
