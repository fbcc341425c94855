// What a job costs, by a table of prices. Pure: the rate of a job comes from a function that knows the table.
import { computeSeconds } from './durations.ts'
import type { JobView } from './job.ts'
import type { ProjectFacts } from './observation.ts'

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
