// The critical path: the chain of jobs, each begun when the one before had ended, that a pipeline took as long as. Pure.
import type { Millis } from '../model/instant.ts'

/** A job that ran. */
export interface Ran {
  readonly id: number
  readonly start: Millis
  readonly end: Millis
}

export interface CriticalPath {
  /** In order of time. */
  readonly ids: readonly number[]
  /** In which a job of the path ran, ms; the rest of the pipeline's time was waiting. */
  readonly busyMs: number
}

/** Webhooks cut times to the second: of two jobs that follow each other, the second may seem to begin this much early. */
const tolerance = 1_000

/** From the job that ended last backwards: each time to the job that ended last before the later one began. */
export function criticalPath(jobs: readonly Ran[]): CriticalPath {
  const path: Ran[] = []
  let current = latestEnd(jobs)
  while (current !== undefined) {
    path.unshift(current)
    const { start, id } = current
    const known = new Set(path.map(job => job.id))
    current = latestEnd(
      jobs.filter(job => job.id !== id && !known.has(job.id) && job.end <= start + tolerance && job.start < start),
    )
  }
  return { ids: path.map(job => job.id), busyMs: path.reduce((sum, job) => sum + (job.end - job.start), 0) }
}

/** Of several that ended together the longest: it is the one to make shorter. */
function latestEnd(jobs: readonly Ran[]): Ran | undefined {
  let found: Ran | undefined
  for (const job of jobs) {
    if (found === undefined || job.end > found.end || (job.end === found.end && job.start < found.start)) found = job
  }
  return found
}
