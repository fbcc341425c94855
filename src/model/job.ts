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

/** When a job's span was last frozen, and as what: what a later life of the same job is told apart by. */
export interface SnapshotMark {
  readonly attempt: number
  /** How many spans of this job have been frozen. */
  readonly spans: number
  readonly status: string
  readonly startedAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
}

/**
 * A job's facts as they are merged. REST tells no runner tags: they are merged apart from their runner, and shown again
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

/** A job as everybody else sees it: facts and times of its latest life. */
export interface JobView extends JobFacts, JobTimes {
  readonly id: number
}

/** Later times win over rank; rank over the witness. */
export function observedJob(heard: ObservedJob, witness: Observation['origin']): Job {
  const horizon = second(later(heard.times.startedAt, heard.times.finishedAt))
  const stamp = versionOf(horizon, rankOf(heard.facts.status), witness === 'rest' ? 1 : 0, heard.facts.status)
  return { id: heard.id, record: versioned(stamp, recordOf(heard.facts)), times: knownOf(heard.times) }
}

/** Who told the newest of what is known of a job. */
export function originOf(stamp: Version): Observation['origin'] {
  return Number(stamp.slice(26, 38)) === 1 ? 'rest' : 'webhook'
}

function recordOf(facts: JobFacts): JobRecord {
  const { runner } = facts
  if (runner?.tags === undefined) return facts
  return { ...facts, runner: { ...runner, tags: undefined }, runnerTags: { runner: runner.id, tags: runner.tags } }
}

/** Commutative, associative, idempotent. Returns `a` itself when `b` adds nothing. `frozen` stays what the store says (a's). */
export function mergeJob(a: Job, b: Job): Job {
  const record = mergeVersioned(a.record, b.record)
  const times = mergeTimes(a.times, b.times)
  if (record === a.record && times === a.times) return a
  return { ...a, record, times }
}

/** Every instant of a job only moves forward: a later life has later times, and a more precise time is the later one. */
function mergeTimes(a: JobTimes, b: JobTimes): JobTimes {
  const createdAt = later(a.createdAt, b.createdAt)
  const startedAt = later(a.startedAt, b.startedAt)
  const finishedAt = later(a.finishedAt, b.finishedAt)
  const isKnown = createdAt === a.createdAt && startedAt === a.startedAt && finishedAt === a.finishedAt
  return isKnown ? a : knownOf({ createdAt, startedAt, finishedAt })
}

/** What belongs to one life of a job and must not survive into the next (a retried skipped job, a played manual job). */
const ofOneLife = [
  'duration',
  'queuedDuration',
  'failureReason',
  'runner',
  'artifacts',
  'coverage',
  'downstream',
] as const

/** The job as its latest life shows it. */
export function viewJob(job: Job): JobView {
  const { version: stamp, facts, older } = job.record
  const { runnerTags } = facts
  const { createdAt, startedAt, finishedAt } = job.times
  const view: Record<string, unknown> = { ...facts, id: job.id, createdAt, startedAt }
  if (runnerTags !== undefined) view.runnerTags = undefined
  // Unless some field is older than the rest, all are of the newest observation.
  if (older !== undefined || newestSecondOf(stamp) < second(startedAt)) {
    for (const field of ofOneLife) {
      const told = versionOfField(job.record, field)
      if (told === undefined) continue
      const heardAt = newestSecondOf(told)
      if (heardAt > 0 && heardAt < second(startedAt)) view[field] = undefined
    }
  }
  const runner = view.runner as Runner | undefined
  if (runner !== undefined && runner.id === runnerTags?.runner) view.runner = { ...runner, tags: runnerTags.tags }
  const bornAgain = second(finishedAt) < second(startedAt)
  view.finishedAt = isFinished(facts.status) || (!isActive(facts.status) && !bornAgain) ? finishedAt : undefined
  if (facts.failureReason !== undefined && facts.status !== 'failed') view.failureReason = undefined
  return view as unknown as JobView
}

/** The latest instant at which this job is known to have done anything. */
export function workedAt(job: Job): Millis | undefined {
  return latest([job.times.startedAt, job.times.finishedAt])
}

/** True when a frozen job has run (again) since: it is owed a second span. */
export function hasMoved(job: Job): boolean {
  const { snapshot: frozen, times } = job
  if (frozen === undefined) return false
  if (second(times.startedAt) > second(frozen.startedAt)) return true
  if (second(times.finishedAt) <= second(frozen.finishedAt)) return false
  // A finish time that arrives late for a job already frozen as finished is a detail of the same life, not new work.
  return !(isFinished(frozen.status) && frozen.finishedAt === undefined)
}
