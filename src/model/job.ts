// One job of a run as known so far: how observations of it merge, and how it looks once they have.
import {
  newestSecondOf,
  knownOf,
  mergeVersioned,
  versioned,
  versionOf,
  versionOfField,
  type Version,
  type Versioned,
} from './versioned.ts'
import { later, latest, second, type Millis } from './instant.ts'
import { isActive, isFinished, rankOf } from './status.ts'
import type { ObservedJob, JobFacts, JobTimes, Observation, Runner } from './observation.ts'

/** The job as its last snapshot has it: by this a later run of the same job id (a manual job played again) is known as new work. */
export interface SnapshotMark {
  readonly attempt: number
  /** How many spans of this job are in snapshots. */
  readonly spans: number
  readonly status: string
  readonly startedAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
}

/**
 * A job's facts as they are merged. REST has no runner tags: they are merged apart from their runner, and shown again
 * with that runner only.
 */
export interface JobRecord extends JobFacts {
  readonly runnerTags?: { readonly runner: number; readonly tags: readonly string[] } | undefined
}

/** A job as the store keeps it. */
export interface Job {
  readonly id: number
  readonly record: Versioned<JobRecord>
  readonly times: JobTimes
  readonly snapshot?: SnapshotMark | undefined
}

/** A job as all other code reads it: facts and times of its latest run. */
export interface JobView extends JobFacts, JobTimes {
  readonly id: number
}

/** The version of a job's facts: later times win over the rank of the status, the rank over the origin. */
export function observedJob(observed: ObservedJob, origin: Observation['origin']): Job {
  const newest = second(later(observed.times.startedAt, observed.times.finishedAt))
  const version = versionOf(newest, rankOf(observed.facts.status), origin === 'rest' ? 1 : 0, observed.facts.status)
  return { id: observed.id, record: versioned(version, recordOf(observed.facts)), times: knownOf(observed.times) }
}

/** Where the newest facts of a job came from. */
export function originOf(version: Version): Observation['origin'] {
  return Number(version.slice(26, 38)) === 1 ? 'rest' : 'webhook'
}

function recordOf(facts: JobFacts): JobRecord {
  const { runner } = facts
  if (runner?.tags === undefined) return facts
  return { ...facts, runner: { ...runner, tags: undefined }, runnerTags: { runner: runner.id, tags: runner.tags } }
}

/** Commutative, associative, idempotent. Returns `a` itself when `b` adds nothing. The snapshot's mark stays as the store has it (a's). */
export function mergeJob(a: Job, b: Job): Job {
  const record = mergeVersioned(a.record, b.record)
  const times = mergeTimes(a.times, b.times)
  if (record === a.record && times === a.times) return a
  return { ...a, record, times }
}

/** A job's times only move forward: a later run has later times, and the more precise of two equal times is the later one. */
function mergeTimes(a: JobTimes, b: JobTimes): JobTimes {
  const createdAt = later(a.createdAt, b.createdAt)
  const startedAt = later(a.startedAt, b.startedAt)
  const finishedAt = later(a.finishedAt, b.finishedAt)
  const isKnown = createdAt === a.createdAt && startedAt === a.startedAt && finishedAt === a.finishedAt
  return isKnown ? a : knownOf({ createdAt, startedAt, finishedAt })
}

/** What belongs to one run of a job and must not survive into its next (a retried skipped job, a played manual job). */
const ofOneRun = [
  'duration',
  'queuedDuration',
  'failureReason',
  'runner',
  'artifacts',
  'artifactSizes',
  'coverage',
  'downstream',
] as const

/** The job as of its latest run. */
export function viewJob(job: Job): JobView {
  const { version: version, facts, older } = job.record
  const { runnerTags } = facts
  const { createdAt, startedAt, finishedAt } = job.times
  const view: Record<string, unknown> = { ...facts, id: job.id, createdAt, startedAt }
  if (runnerTags !== undefined) view.runnerTags = undefined
  // Unless some field is older than the rest, all are of the newest observation.
  if (older !== undefined || newestSecondOf(version) < second(startedAt)) {
    for (const field of ofOneRun) {
      const from = versionOfField(job.record, field)
      if (from === undefined) continue
      const observedAt = newestSecondOf(from)
      if (observedAt > 0 && observedAt < second(startedAt)) view[field] = undefined
    }
  }
  const runner = view.runner as Runner | undefined
  if (runner !== undefined && runner.id === runnerTags?.runner) view.runner = { ...runner, tags: runnerTags.tags }
  const runsAgain = second(finishedAt) < second(startedAt)
  view.finishedAt = isFinished(facts.status) || (!isActive(facts.status) && !runsAgain) ? finishedAt : undefined
  if (facts.failureReason !== undefined && facts.status !== 'failed') view.failureReason = undefined
  return view as unknown as JobView
}

/** The latest instant at which this job is known to have done anything. */
export function workedAt(job: Job): Millis | undefined {
  return latest([job.times.startedAt, job.times.finishedAt])
}

/** True when a job has run (again) since its snapshot: it needs a second span. */
export function hasMoved(job: Job): boolean {
  const { snapshot, times } = job
  if (snapshot === undefined) return false
  if (second(times.startedAt) > second(snapshot.startedAt)) return true
  if (second(times.finishedAt) <= second(snapshot.finishedAt)) return false
  // A finish time that arrives late for a job whose snapshot has it as finished is a detail of the same run, not new work.
  return !(isFinished(snapshot.status) && snapshot.finishedAt === undefined)
}
