// Counts the jobs of a ref as gcpe does: a job counts when it is newer than the one that was seen before under its name.
import { remember } from '../lib/bounded-map.ts'
import { isBlocked, wasSkipped } from '../model/status.ts'
import type { JobView } from '../model/job.ts'

/** Sets of labels of one ref that keep a count. */
const maxCounts = 2_000

export interface JobRuns {
  /** The jobs of the newest run, the first time or again. */
  saw(jobs: readonly JobView[], source: string): void
  /** How many jobs with the labels of this one were counted. */
  of(job: JobView, source: string): number
}

export function createJobRuns(): JobRuns {
  const before = new Map<string, Pick<JobView, 'id' | 'status'>>()
  const counts = new Map<string, number>()
  return {
    saw: (jobs, source) => {
      for (const job of jobs) {
        const { id, status, name = '' } = job
        const last = before.get(name)
        const known = counts.get(labels(job, source))
        const isNew = last !== undefined && hasRun(job) && (last.id !== id || !hasRun(last))
        remember(counts, labels(job, source), (known ?? 0) + (known !== undefined && isNew ? 1 : 0), maxCounts)
        remember(before, name, { id, status }, maxCounts)
      }
    },
    of: (job, source) => counts.get(labels(job, source)) ?? 0,
  }
}

function hasRun({ status }: Pick<JobView, 'status'>): boolean {
  return !wasSkipped(status) && !isBlocked(status)
}

/** Of its series. */
function labels({ name, stage, runner, tags, failureReason }: JobView, source: string): string {
  return JSON.stringify([source, name, stage, runner?.description, tags, failureReason])
}
