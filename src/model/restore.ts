// Restores a job from its snapshot. Data of a job that a chunk contains is not stored a second time in the job's row until the job changes. Pure.
import { observedJob, originOf, type SnapshotMark, type Job } from './job.ts'
import { knownOf, newestSecondOf } from './versioned.ts'
import { later, second } from './instant.ts'
import type { JobSnapshot } from './chunk.ts'

/** What can be restored from a job's snapshot: nothing, its `SnapshotMark`, or the whole job. */
export type Restorable = 'nothing' | 'mark' | 'job'

/** `job`: as it is after the snapshot. Nothing can be restored from a second span, as only the job's row says which span was the last. */
export function restorableOf(job: Job, snapshot: JobSnapshot): Restorable {
  const { record, times } = job
  if (job.snapshot?.spans !== 1 || snapshot.finishedAt !== times.finishedAt) return 'nothing'
  const { version, facts, older } = record
  const isOfOneObservation =
    older === undefined && newestSecondOf(version) === second(later(times.startedAt, times.finishedAt))
  const tags = facts.runnerTags
  const isShown =
    snapshot.failureReason === facts.failureReason && (tags === undefined || tags.runner === facts.runner?.id)
  return isOfOneObservation && isShown && originOf(version) === 'webhook' ? 'job' : 'mark'
}

/** The mark of a job that has this span only. */
export function restoreMark({ status, startedAt, finishedAt }: JobSnapshot, attempt: number): SnapshotMark {
  return knownOf({ attempt, spans: 1, status, startedAt, finishedAt })
}

/** For a snapshot for which `restorableOf` returns `job`. */
export function restoreJob(snapshot: JobSnapshot, attempt: number): Job {
  const { id, createdAt, startedAt, finishedAt, start, end, retried, critical, slack, ...others } = snapshot
  const { rate, cost, salt, deploymentId, ...facts } = others
  const job = observedJob({ id, facts, times: { createdAt, startedAt, finishedAt } }, 'webhook')
  return { ...job, snapshot: restoreMark(snapshot, attempt) }
}
