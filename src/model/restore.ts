// A job restored from its snapshot: what a chunk has of a job is not stored a second time in a row of its own, until the job changes. Pure.
import { observedJob, originOf, type SnapshotMark, type Job } from './job.ts'
import { newestSecondOf } from './versioned.ts'
import { later, second } from './instant.ts'
import type { JobSnapshot } from './chunk.ts'

/** What can be restored from a job's snapshot: nothing, the mark that there is one, or the whole job. */
export type Restorable = 'nothing' | 'mark' | 'job'

/** `job`: as it is after the snapshot. Nothing of a job's second span: which of them was the last is stored with the job. */
export function restorableOf(job: Job, snapshot: JobSnapshot): Restorable {
  const { record, times } = job
  if (job.snapshot?.spans !== 1 || snapshot.finishedAt !== times.finishedAt) return 'nothing'
  const { version: version, facts, older } = record
  const isOfOneObservation =
    older === undefined && newestSecondOf(version) === second(later(times.startedAt, times.finishedAt))
  const tags = facts.runnerTags
  const isShown =
    snapshot.failureReason === facts.failureReason && (tags === undefined || tags.runner === facts.runner?.id)
  return isOfOneObservation && isShown && originOf(version) === 'webhook' ? 'job' : 'mark'
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

/** The job that this snapshot has whole. */
export function restoreJob(snapshot: JobSnapshot, attempt: number): Job {
  const { id, createdAt, startedAt, finishedAt, start, end, retried, critical, slack, ...others } = snapshot
  const { rate, cost, salt, deploymentId, ...facts } = others
  const job = observedJob({ id, facts, times: { createdAt, startedAt, finishedAt } }, 'webhook')
  return { ...job, snapshot: restoreMark(snapshot, attempt) }
}
