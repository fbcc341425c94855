// What the time of jobs costs, by a table of prices. Pure: which rate holds for a job is asked of whoever has the table.
import { computeSeconds } from './durations.ts'
import type { JobView } from './job.ts'
import type { ProjectFacts } from './observation.ts'

export interface Rate {
  readonly name: string
  readonly perMinute: number
  /** By which the minutes are multiplied. */
  readonly factor: number
}

/** The rate of a job; undefined where no price holds for it. */
export type RateOf = (job: JobView, project: ProjectFacts) => Rate | undefined

/** The name of a job's rate, and its cost: never rounded. */
export interface Price {
  readonly rate: string
  readonly cost: number
}

/** Undefined for a job that took no runner's time, and where no price holds for it. */
export function priceOf(job: JobView, project: ProjectFacts, rateOf: RateOf | undefined): Price | undefined {
  const seconds = computeSeconds(job)
  const rate = seconds === undefined ? undefined : rateOf?.(job, project)
  if (seconds === undefined || rate === undefined) return undefined
  return { rate: rate.name, cost: (seconds / 60) * rate.perMinute * rate.factor }
}
