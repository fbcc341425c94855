// Computes the critical path of a pipeline, which is the chain of jobs that determined how long the pipeline took. Also computes each job's slack:
// how much later the job could have ended without the pipeline ending later. Pure.
//
// No source reports dependencies, so they are inferred from the times: a job is assumed to depend on the job that ended last before it began. For
// example, build ran from 0 to 60 s, lint from 0 to 20 s, and test from 61 to 90 s. Then test waited for build, the path is build and test, and lint
// has a slack of 40 s.
import type { Millis } from './instant.ts'

/** A job that ran, with its start and end time. */
export interface Ran {
  readonly id: number
  readonly start: Millis
  readonly end: Millis
}

export interface CriticalPath {
  /** The IDs of the jobs on the critical path, in chronological order. */
  readonly ids: readonly number[]
  /** Total running time of the jobs on the critical path, ms. The rest of the pipeline's time was waiting. */
  readonly busyMs: number
  /** The slack by job ID, ms. Jobs on the critical path have a slack of 0. */
  readonly slack: ReadonlyMap<number, number>
  /** For each job ID, the ID of the job that it waited for. Jobs that waited for no job are omitted. */
  readonly waitedFor: ReadonlyMap<number, number>
}

/** The time in ms by which a job may appear to begin before the end of the job that it waited for. Webhooks truncate times to whole seconds. */
const tolerance = 1_000

/**
 * Finds the critical path backwards: it begins with the job that ended last, and each step leads to the job that the later one waited for. O(n log
 * n).
 */
export function criticalPath(jobs: readonly Ran[]): CriticalPath {
  const byStart = jobs.toSorted((a, b) => a.start - b.start)
  const byRelease = jobs.toSorted((a, b) => releaseOf(a) - releaseOf(b))
  const waitedFor = whatEachWaitedFor(byStart, byRelease)
  const path: Ran[] = []
  let last: Ran | undefined
  for (const job of jobs) last = laterEnd(last, job)
  for (let job = last; job !== undefined; job = waitedFor.get(job)) path.push(job)
  return {
    ids: path.reverse().map(job => job.id),
    busyMs: path.reduce((sum, job) => sum + (job.end - job.start), 0),
    slack: slackOfEach(byStart, byRelease, waitedFor, last?.end ?? 0),
    waitedFor: new Map([...waitedFor].map(([job, before]) => [job.id, before.id])),
  }
}

/**
 * The release time of a job: jobs that begin at this time or later may have waited for the job. The release time is later than the job's own start,
 * so that a job cannot wait for itself.
 */
function releaseOf({ start, end }: Ran): Millis {
  return Math.max(end - tolerance, start + 0.5)
}

function whatEachWaitedFor(byStart: readonly Ran[], byRelease: readonly Ran[]): ReadonlyMap<Ran, Ran> {
  const waitedFor = new Map<Ran, Ran>()
  let last: Ran | undefined
  let next = 0
  for (const job of byStart) {
    for (let free = byRelease[next]; free !== undefined && releaseOf(free) <= job.start; free = byRelease[next]) {
      last = laterEnd(last, free)
      next += 1
    }
    if (last !== undefined) waitedFor.set(job, last)
  }
  return waitedFor
}

/**
 * Computes the slack of each job, from the latest job to the earliest. A job may not end later than the pipeline, and it may not delay any job that
 * began after it: for each of those, the limit is the end of the job that it waited for, plus its own slack.
 */
function slackOfEach(
  byStart: readonly Ran[],
  byRelease: readonly Ran[],
  waitedFor: ReadonlyMap<Ran, Ran>,
  finish: Millis,
): Map<number, number> {
  const slack = new Map<number, number>()
  let latestEnd = finish
  let next = byStart.length - 1
  for (const job of byRelease.toReversed()) {
    for (let later = byStart[next]; later !== undefined && later.start >= releaseOf(job); later = byStart[next]) {
      const before = waitedFor.get(later)
      if (before !== undefined) latestEnd = Math.min(latestEnd, before.end + (slack.get(later.id) ?? 0))
      next -= 1
    }
    slack.set(job.id, latestEnd - job.end)
  }
  return slack
}

/** Returns the job that ended later, or the longer one if both ended at the same time. */
function laterEnd(known: Ran | undefined, job: Ran): Ran {
  if (known === undefined || job.end > known.end || (job.end === known.end && job.start < known.start)) return job
  return known
}
