// A job as its frozen span tells it: what was frozen is stored once, and the job is known from there until it changes. Pure.
import { observedJob, originOf, type SnapshotMark, type Job } from './job.ts'
import { newestSecondOf } from './versioned.ts'
import { later, second } from './instant.ts'
import type { JobSnapshot } from './chunk.ts'

/** What a span tells of the job that was frozen as it: that it was, or all that is known of it. */
export type Restorable = 'nothing' | 'mark' | 'job'

/** `job`: as it is after the freeze. A job's second span tells nothing: which of them was the last is kept with the job. */
export function restorableOf(job: Job, frozen: JobSnapshot): Restorable {
  const { record, times } = job
  if (job.snapshot?.spans !== 1 || frozen.finishedAt !== times.finishedAt) return 'nothing'
  const { version: stamp, facts, older } = record
  const isOfOneWord = older === undefined && newestSecondOf(stamp) === second(later(times.startedAt, times.finishedAt))
  const tags = facts.runnerTags
  const isShown =
    frozen.failureReason === facts.failureReason && (tags === undefined || tags.runner === facts.runner?.id)
  return isOfOneWord && isShown && originOf(stamp) === 'webhook' ? 'job' : 'mark'
}

/** The mark of a job whose only span is this one. */
export function restoreMark({ status, startedAt, finishedAt }: JobSnapshot, attempt: number): SnapshotMark {
  return {
    attempt,
    spans: 1,
    status,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  }
}

/** The job that this span tells all of. */
export function restoreJob(frozen: JobSnapshot, attempt: number): Job {
  const { id, createdAt, startedAt, finishedAt, start, end, retried, salt, ...facts } = frozen
  const job = observedJob({ id, facts, times: { createdAt, startedAt, finishedAt } }, 'webhook')
  return { ...job, snapshot: restoreMark(frozen, attempt) }
}
