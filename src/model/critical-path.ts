// The critical path: the chain of jobs that determined how long the pipeline took; and the slack of every job: how much later it
// could have ended without the pipeline ending later. Pure.
//
// No source reports dependencies, so they are inferred from the times: a job is taken to depend on the job that ended last before it
// began. Build 0–60 s, lint 0–20 s, test 61–90 s: test waited for build; the path is build, test; lint has a slack of 40 s.
import type { Millis } from './instant.ts'

/** A job that ran. */
export interface Ran {
  readonly id: number
  readonly start: Millis
  readonly end: Millis
}

export interface CriticalPath {
  /** The jobs of the path, in order of time. */
  readonly ids: readonly number[]
  /** How long the jobs of the path ran, ms; the rest of the pipeline's time was waiting. */
  readonly busyMs: number
  /** The slack by job id, ms; 0 on the path. */
  readonly slack: ReadonlyMap<number, number>
  /** By job id, the id of the job that it waited for; without those that waited for none. */
  readonly waitedFor: ReadonlyMap<number, number>
}

/** Webhooks truncate times to the second, so a job may seem to begin up to this much before the job that it waited for had ended. */
const tolerance = 1_000

/** Backwards from the job that ended last, each time to the job that the later one waited for. O(n log n). */
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

/** A job that begins at this time or later may have waited for this one. It is later than its start, so that no job waits for itself. */
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
 * Goes backwards in time. A job may end no later than the pipeline, and no later than any job that began after it allows: the end of the job
 * that the later one waited for, plus the later one's slack.
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

/** The job that ended later; of two that ended at the same time, the longer one. */
function laterEnd(known: Ran | undefined, job: Ran): Ran {
  if (known === undefined || job.end > known.end || (job.end === known.end && job.start < known.start)) return job
  return known
}
