// The runner time of jobs: how long they ran, in all and by stage, what that costs by a table of prices, and whether it was useful or wasted. Pure.
import { isFinished, hasFailed, wasCanceled, type Status } from './status.ts'
import type { JobView } from './job.ts'
import type { ProjectFacts } from './observation.ts'

/** The finished jobs of one stage. */
export interface StageDurations {
  /** Empty where the stage is unknown. */
  readonly stage: string
  /** One for each job, fractional. */
  readonly seconds: readonly number[]
}

/** Stages in the order of their jobs; stages in which nothing ran are left out. */
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

/** How long it occupied a runner; undefined for a bridge, which needs none, and for a job that never ran or still runs. */
export function computeSeconds(job: JobView): number | undefined {
  return job.kind === 'bridge' ? undefined : secondsOf(job)
}

/** The duration that the platform reports, else the difference of its times; undefined for a job that never ran or still runs. */
function secondsOf({ status, duration, startedAt, finishedAt }: JobView): number | undefined {
  if (!isFinished(status)) return undefined
  const timed = startedAt === undefined || finishedAt === undefined ? undefined : (finishedAt - startedAt) / 1000
  return [duration, timed].find(seconds => seconds !== undefined && Number.isFinite(seconds) && seconds >= 0)
}

export interface Rate {
  readonly name: string
  readonly perMinute: number
  /** The minutes are multiplied by it. */
  readonly factor: number
}

/** The rate of a job; undefined where the table has none for it. */
export type RateOf = (job: JobView, project: ProjectFacts, instance?: string) => Rate | undefined

/** The cost is not rounded. */
export interface Price {
  readonly rate: string
  readonly cost: number
}

/** Undefined for a job that occupied no runner, and where the table has no rate for it. */
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

/** The first that applies. `superseded`: its pipeline was canceled when a newer one of its ref existed already. */
export function computePurposeOf(
  { retried, status }: { readonly retried: boolean; readonly status: Status },
  superseded: boolean,
): ComputePurpose {
  if (retried) return 'retried'
  if (wasCanceled(status) && superseded) return 'superseded'
  return hasFailed(status) ? 'failed' : 'useful'
}
