// A job as its frozen span tells it: what was frozen is stored once, and the job is known from there until it changes. Pure.
import { hearJob, witnessOf, type FrozenMark, type Job } from './job.ts'
import { horizonOf } from './versioned.ts'
import { later, second } from './instant.ts'
import type { FrozenJob } from './chunk.ts'

/** What a span tells of the job that was frozen as it: that it was, or all that is known of it. */
export type Told = 'nothing' | 'mark' | 'job'

/** `job`: as it is after the freeze. A job's second span tells nothing: which of them was the last is kept with the job. */
export function toldOf(job: Job, frozen: FrozenJob): Told {
  const { record, times } = job
  if (job.frozen?.spans !== 1 || frozen.finishedAt !== times.finishedAt) return 'nothing'
  const { stamp, facts, older } = record
  const isOfOneWord = older === undefined && horizonOf(stamp) === second(later(times.startedAt, times.finishedAt))
  const tags = facts.runnerTags
  const isShown =
    frozen.failureReason === facts.failureReason && (tags === undefined || tags.runner === facts.runner?.id)
  return isOfOneWord && isShown && witnessOf(stamp) === 'webhook' ? 'job' : 'mark'
}

/** The mark of a job whose only span is this one. */
export function thawMark({ status, startedAt, finishedAt }: FrozenJob, attempt: number): FrozenMark {
  return {
    attempt,
    spans: 1,
    status,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  }
}

/** The job that this span tells all of. */
export function thawJob(frozen: FrozenJob, attempt: number): Job {
  const { id, createdAt, startedAt, finishedAt, start, end, retried, salt, ...facts } = frozen
  const job = hearJob({ id, facts, times: { createdAt, startedAt, finishedAt } }, 'webhook')
  return { ...job, frozen: thawMark(frozen, attempt) }
}
