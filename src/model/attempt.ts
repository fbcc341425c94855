// Determines which jobs belong to a run's next attempt, and which are supplements to an earlier attempt. Pure; `snapshot.ts` builds the chunks that
// are sent.
//
//             observation                    terminal, settled,           observation with
//                 │                       nothing active, enriched          new work after F
//                 ▼                                │                              │
//   (unknown) ─► OPEN attempt 1 ───────────────────┴──► SNAPSHOT of attempt 1 ────┴──► OPEN attempt 2 ─► …
//                 │   ▲                                    ▲      │
//                 │   └── any change: settle again         │      └─ a job observed late that ran before F: SUPPLEMENT
//                 │                                        │
//                 └── manual or scheduled, nothing active for `blockedAfter`; silent for `staleAfter`: snapshot, incomplete
//
// OPEN: the run has work that no snapshot contains yet. SNAPSHOT: nothing happens until something new is observed. F is the finish of the last
// attempt that has a snapshot. All times are compared in whole seconds, because webhooks truncate their times.
import { hasMoved, viewJob, type Job } from './job.ts'
import { newestSecondOf } from './versioned.ts'
import { isFromRest } from './pipeline.ts'
import { isActive, isBlocked, isKnownStatus, isManual, isTerminal, wasSkipped } from './status.ts'
import { latest, second, type Millis } from './instant.ts'
import { lastAttempt, type Run } from './run.ts'

/**
 * The jobs that a run's attempts consist of. A pipeline from an external CI system has none: the jobs listed for it are commit statuses of that
 * system.
 */
export function jobsOf({ pipeline, jobs }: Run): Iterable<Job> {
  return pipeline?.record.facts.source === 'external' ? [] : jobs.values()
}

/**
 * True if the run has an open attempt. The first attempt is open once the pipeline has been observed, and a later one if there is new work after F, the
 * finish of the last snapshot.
 */
export function isOpen(run: Run): boolean {
  if (run.pipeline === undefined) return false
  const last = lastAttempt(run)
  if (last === undefined || hasContinued(run)) return true
  const { record, times } = run.pipeline
  if (isTerminal(record.facts.status)) return second(times.finishedAt) > second(last.finish)
  // A REST response with a non-terminal status that is newer than the last snapshot proves that the pipeline was retried. A webhook does not prove
  // this, because it may be late. A blocked pipeline may be touched without running on, so only its jobs prove that it ran.
  if (isBlocked(record.facts.status)) return false
  const newest = newestSecondOf(record.version)
  return isFromRest(record.version) && newest > second(last.finish) && newest > last.newestSecond
}

/** True if a job proves that the pipeline continued after its last snapshot. */
function hasContinued(run: Run): boolean {
  const last = lastAttempt(run)
  if (last === undefined) return false
  for (const job of jobsOf(run)) if (isNewWork(job, last.finish)) return true
  return false
}

/**
 * True if a job proves that the pipeline runs on, although its status is still that of its last snapshot, or says that the pipeline waits for a
 * person: the job began after everything that the status was observed with.
 */
export function runsOn(run: Run): boolean {
  if (hasContinued(run)) return true
  const { record } = run.pipeline ?? {}
  if (record === undefined || !isBlocked(record.facts.status)) return false
  const known = newestSecondOf(record.version)
  for (const job of jobsOf(run)) if (second(job.times.startedAt) > known) return true
  return false
}

/**
 * True if the open attempt has ended, according to the pipeline's status. A terminal status that belongs to an earlier attempt does not end a new
 * one.
 */
export function isAtEnd(run: Run): boolean {
  if (run.pipeline === undefined) return false
  const { record, times } = run.pipeline
  if (!isTerminal(record.facts.status)) return false
  const last = lastAttempt(run)
  if (last === undefined || second(times.finishedAt) > second(last.finish)) return true
  // A `skipped` pipeline has no finish time. Its status ends an attempt if the status is newer than the last snapshot.
  return wasSkipped(record.facts.status) && newestSecondOf(record.version) > last.newestSecond
}

/**
 * The finish (F) that the open attempt would have if its snapshot were taken now; `now` if no time is known. Never earlier than the finish of the
 * previous attempt.
 */
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

/**
 * The jobs that the open attempt would contain if its snapshot were taken now: jobs that are in no snapshot yet, and jobs that ran again since their
 * snapshot.
 */
export function jobsOfAttempt(run: Run, options: { readonly withActive: boolean }): Job[] {
  const last = lastAttempt(run)
  return sorted(run).filter(job => {
    if (job.snapshot !== undefined && !hasMoved(job)) return false
    if (last !== undefined && job.snapshot === undefined && !isAfter(job, last.finish) && isDone(job)) return false
    // An unknown status may be that of a job that has ended without a finish time, so the job is not left out.
    return options.withActive || !isActiveJob(job) || !isKnownStatus(job.record.facts.status)
  })
}

/**
 * The jobs to export as supplements. They have ended, they ran before F (the finish of the last snapshot), and this run of them is in no snapshot
 * yet.
 */
export function supplementsOf(run: Run): Job[] {
  const last = lastAttempt(run)
  if (last === undefined) return []
  return sorted(run).filter(job => {
    if (!isDone(job) || isAfter(job, last.finish)) return false
    return job.snapshot === undefined || (hasMoved(job) && second(job.times.finishedAt) <= second(last.finish))
  })
}

/** The active jobs that delay settling. A job that was retried does not delay settling, because there is a newer job of the same name. */
export function delayingJobs(run: Run): Job[] {
  if (!hasActiveJobs(run)) return []
  const newest = newestByName(run)
  return sorted(run).filter(job => {
    const { name } = job.record.facts
    if (!isActiveJob(job) || (job.snapshot !== undefined && !hasMoved(job))) return false
    return name === undefined || newest.get(name) === job.id
  })
}

/** True while any job of the run is running or queued. */
export function hasActiveJobs(run: Run): boolean {
  for (const job of jobsOf(run)) if (isActiveJob(job)) return true
  return false
}

/** The highest job ID for each job name. */
export function newestByName(run: Run): Map<string, number> {
  const newest = new Map<string, number>()
  for (const job of run.jobs.values()) {
    const { name } = job.record.facts
    if (name !== undefined && job.id > (newest.get(name) ?? -1)) newest.set(name, job.id)
  }
  return newest
}

/** True for a job that proves that the pipeline continued after F, the finish of the last snapshot. */
function isNewWork(job: Job, finish: Millis): boolean {
  return isAfter(job, finish) && (job.snapshot === undefined || hasMoved(job))
}

/** True if the job was created or started after F, the finish of the last snapshot. */
function isAfter(job: Job, finish: Millis): boolean {
  return second(job.times.createdAt) > second(finish) || second(job.times.startedAt) > second(finish)
}

function isActiveJob(job: Job): boolean {
  return isActive(job.record.facts.status) && !isDone(job)
}

/** True if the job will not change without manual action. A job with an unknown status has ended if it has a finish time. */
function isDone({ record, times }: Job): boolean {
  const { status } = record.facts
  return isTerminal(status) || isManual(status) || (!isKnownStatus(status) && times.finishedAt !== undefined)
}

function sorted(run: Run): Job[] {
  return [...jobsOf(run)].sort((a, b) => a.id - b.id)
}
