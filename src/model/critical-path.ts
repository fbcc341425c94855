// The critical path: the chain of jobs, each begun when the one before had ended, that a pipeline took as long as; and for every job how
// much later it could have ended without anybody waiting for it. Pure.
//
// What a job waited for is not known: sources name no dependencies. It is read from the times: a job may have waited for every job that
// had ended when it began, and began when the last of these had.
import type { Millis } from './instant.ts'

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
  /** By id, ms: how much later the job could have ended, and the pipeline as early. 0 on the path. */
  readonly slack: ReadonlyMap<number, number>
}

/** Webhooks cut times to the second: of two jobs that follow each other, the second may seem to begin this much early. */
const tolerance = 1_000

/**
 * From the job that ended last backwards: each time to the job that ended last before the later one began, of several that ended together
 * the longest. Every job once; in time n log n.
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
  }
}

/** From when on a job that begins may have waited for this one; never for one that began no earlier than itself. */
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
 * Backwards: a job may end as late as the pipeline did, and as late as all that waited for it allow: each of these as late as what it did
 * wait for, and as much later as it may itself.
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

function laterEnd(known: Ran | undefined, job: Ran): Ran {
  if (known === undefined || job.end > known.end || (job.end === known.end && job.start < known.start)) return job
  return known
}
