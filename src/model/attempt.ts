// Which jobs belong to a run's next attempt, and which are supplements to an earlier one. Pure; `snapshot.ts` builds what is sent.
//
//             observation                    terminal, settled,           observation with
//                 │                       nothing active, enriched          new work after F
//                 ▼                                │                              │
//   (unknown) ─► OPEN attempt 1 ───────────────────┴──► SNAPSHOT of attempt 1 ────┴──► OPEN attempt 2 ─► …
//                 │   ▲                                    ▲      │
//                 │   └── any change: settle again         │      └─ a job learnt late, its work before F: SUPPLEMENT
//                 │                                        │
//                 └── manual or scheduled, nothing active for `blockedAfter`; silent for `staleAfter`: snapshot, incomplete
//
// OPEN: there is work that no snapshot has yet. SNAPSHOT: nothing happens until something new is observed. F is the finish of
// the last attempt that has a snapshot. All comparisons are at whole seconds, because webhooks truncate their times.
import { hasMoved, viewJob, type Job } from './job.ts'
import { newestSecondOf } from './versioned.ts'
import { isFromRest } from './pipeline.ts'
import { isActive, isManual, isTerminal, wasSkipped } from './status.ts'
import { latest, second, type Millis } from './instant.ts'
import { lastAttempt, type Run } from './run.ts'

/** The jobs of its attempts. A pipeline of an external CI system has none: its listed jobs are commit statuses of that system. */
export function jobsOf({ pipeline, jobs }: Run): Iterable<Job> {
  return pipeline?.record.facts.source === 'external' ? [] : jobs.values()
}

/** True when an attempt is open: the first, or one for new work after F. */
export function isOpen(run: Run): boolean {
  if (run.pipeline === undefined) return false
  const last = lastAttempt(run)
  if (last === undefined) return true
  for (const job of jobsOf(run)) if (isNewWork(job, last.finish)) return true
  const { record, times } = run.pipeline
  if (isTerminal(record.facts.status)) return second(times.finishedAt) > second(last.finish)
  // A REST answer that is not terminal and newer than the last snapshot proves a retry; a late webhook proves nothing.
  const newest = newestSecondOf(record.version)
  return isFromRest(record.version) && newest > second(last.finish) && newest > last.newestSecond
}

/** True when the open attempt has ended, by its status; the terminal status of an earlier attempt does not end a new one. */
export function isAtEnd(run: Run): boolean {
  if (run.pipeline === undefined) return false
  const { record, times } = run.pipeline
  if (!isTerminal(record.facts.status)) return false
  const last = lastAttempt(run)
  if (last === undefined || second(times.finishedAt) > second(last.finish)) return true
  // `skipped` has no finish of its own: it ends an attempt when it is newer than the last snapshot.
  return wasSkipped(record.facts.status) && newestSecondOf(record.version) > last.newestSecond
}

/** F of the open attempt, if its snapshot were taken now; `now` if nothing has a time. Never earlier than the previous F. */
export function finishOf(run: Run, now: Millis): Millis {
  const last = lastAttempt(run)
  const times = run.pipeline?.times
  const status = run.pipeline?.record.facts.status ?? ''
  const candidates = [
    () => (isTerminal(status) ? times?.finishedAt : undefined),
    () => latest([...run.jobs.values()].map(job => viewJob(job).finishedAt)),
    () => times?.updatedAt,
    () => times?.createdAt,
    () => latest([...run.jobs.values()].flatMap(job => [job.times.createdAt, job.times.startedAt])),
  ]
  for (const candidate of candidates) {
    const time = candidate()
    if (time !== undefined && (last === undefined || time > last.finish)) return time
  }
  return last?.finish ?? now
}

/** The jobs of the open attempt, if its snapshot were taken now: those in no snapshot yet, and those that ran again since theirs. */
export function jobsOfAttempt(run: Run, options: { readonly withActive: boolean }): Job[] {
  const last = lastAttempt(run)
  return sorted(run).filter(job => {
    if (job.snapshot !== undefined && !hasMoved(job)) return false
    if (last !== undefined && job.snapshot === undefined && !isAfter(job, last.finish) && isDone(job)) return false
    return options.withActive || !isActive(job.record.facts.status)
  })
}

/** Jobs to export as supplements: they have ended, their work lies before F, and no snapshot has it. */
export function supplementsOf(run: Run): Job[] {
  const last = lastAttempt(run)
  if (last === undefined) return []
  return sorted(run).filter(job => {
    if (!isDone(job) || isAfter(job, last.finish)) return false
    return job.snapshot === undefined || (hasMoved(job) && second(job.times.finishedAt) <= second(last.finish))
  })
}

/** Active jobs that delay settling. A job that was retried does not: a newer job of its name exists. */
export function delayingJobs(run: Run): Job[] {
  if (!hasActiveJobs(run)) return []
  const newest = newestByName(run)
  return sorted(run).filter(job => {
    const { name } = job.record.facts
    if (!isActive(job.record.facts.status) || (job.snapshot !== undefined && !hasMoved(job))) return false
    return name === undefined || newest.get(name) === job.id
  })
}

/** True while anything runs or queues. */
export function hasActiveJobs(run: Run): boolean {
  for (const job of jobsOf(run)) if (isActive(job.record.facts.status)) return true
  return false
}

/** The highest job id of each name. */
export function newestByName(run: Run): Map<string, number> {
  const newest = new Map<string, number>()
  for (const job of run.jobs.values()) {
    const { name } = job.record.facts
    if (name !== undefined && job.id > (newest.get(name) ?? -1)) newest.set(name, job.id)
  }
  return newest
}

/** True for a job that proves that the run went on after F. */
function isNewWork(job: Job, finish: Millis): boolean {
  return isAfter(job, finish) && (job.snapshot === undefined || hasMoved(job))
}

/** Created or started after F. */
function isAfter(job: Job, finish: Millis): boolean {
  return second(job.times.createdAt) > second(finish) || second(job.times.startedAt) > second(finish)
}

/** The job will not change without an action of a person. */
function isDone(job: Job): boolean {
  const { status } = job.record.facts
  return isTerminal(status) || isManual(status)
}

function sorted(run: Run): Job[] {
  return [...jobsOf(run)].sort((a, b) => a.id - b.id)
}
