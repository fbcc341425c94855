// How long jobs ran, in all and by stage: the input of metrics.
import { isFinished } from './status.ts'
import type { JobView } from './job.ts'

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
