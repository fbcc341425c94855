// Counts the jobs of a ref as gcpe does: a job counts when it is newer than the one that was seen before under its name. A count belongs to the name,
// stage and tags of a job; its other labels, such as the runner, change from job to job without a new count.
import { isBlocked, wasSkipped } from '../../model/status.ts'
import { remember } from '../../lib/bounded-map.ts'
import type { JobView } from '../../model/job.ts'

/** Counts of one ref. */
const maxCounts = 2_000

export interface JobRuns {
  /** The jobs of the newest run, the first time or again. */
  saw(jobs: readonly JobView[]): void
  /** How many jobs of its name, stage and tags were counted. */
  of(job: JobView): number
}

export function createJobRuns(): JobRuns {
  const before = new Map<string, Pick<JobView, 'id' | 'status'>>()
  const counts = new Map<string, number>()
  return {
    saw: jobs => {
      for (const job of jobs) {
        const { id, status, name = '' } = job
        const last = before.get(name)
        const [key, known] = [keyOf(job), counts.get(keyOf(job))]
        const isNew = last !== undefined && hasRun(job) && (last.id !== id || !hasRun(last))
        remember(counts, key, (known ?? 0) + (known !== undefined && isNew ? 1 : 0), maxCounts)
        remember(before, name, { id, status }, maxCounts)
      }
    },
    of: job => counts.get(keyOf(job)) ?? 0,
  }
}

function hasRun({ status }: Pick<JobView, 'status'>): boolean {
  return !wasSkipped(status) && !isBlocked(status)
}

function keyOf({ name = '', stage = '', tags = [] }: JobView): string {
  return JSON.stringify([name, stage, tags.toSorted()])
}
