// One job of a run: how observations of it are merged, and the view of the result.
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
import { later, second, type Millis } from './instant.ts'
import { isActive, isFinished, rankOf, hasFailed } from './status.ts'
import type { ObservedJob, JobFacts, JobTimes, Observation, Runner } from './observation.ts'

/** What a span had that the job lacks, or may have differently by now: `run-chunks.ts` rebuilds the span from both. */
export interface SpanMark {
  readonly attempt: number
  /** The number of its chunk; undefined if it is forgotten. */
  readonly chunk?: number | undefined
  readonly status: string
  readonly startedAt?: Millis | undefined
  readonly finishedAt?: Millis | undefined
  readonly retried?: true | undefined
  readonly critical?: true | undefined
  readonly slack?: Millis | undefined
  readonly rate?: string | undefined
  readonly cost?: number | undefined
  readonly deploymentId?: number | undefined
  readonly salt?: string | undefined
}

/** The job as its last snapshot has it. When the same job id runs again (a manual job that is played again), the difference shows it. */
export interface SnapshotMark extends SpanMark {
  /** How many spans of this job are in snapshots. */
  readonly spans: number
  /** The spans before the last one, in order. */
  readonly earlier?: readonly SpanMark[] | undefined
}

/** The marks of all its spans, in order. */
export function spansOf({ earlier = [], spans: _, ...last }: SnapshotMark): readonly SpanMark[] {
  return [...earlier, last]
}

/** A job's facts as they are merged. The runner's tags are a field of their own, as REST reports the runner without them. */
export interface JobRecord extends JobFacts {
  readonly runnerTags?: { readonly runner: number; readonly tags: readonly string[] } | undefined
}

/** A job as it is stored. */
export interface Job {
  readonly id: number
  readonly record: Versioned<JobRecord>
  readonly times: JobTimes
  readonly snapshot?: SnapshotMark | undefined
}

/** A job as all other code reads it: facts and times of the last time it ran. */
export interface JobView extends JobFacts, JobTimes {
  readonly id: number
}

/** A job as one observation reports it. Of two versions the one with the later times wins, then the one with the higher rank of the status, then REST. */
export function observedJob(observed: ObservedJob, origin: Observation['origin']): Job {
  const newest = second(later(observed.times.startedAt, observed.times.finishedAt))
  const version = versionOf(newest, rankOf(observed.facts.status), origin === 'rest' ? 1 : 0, observed.facts.status)
  return { id: observed.id, record: versioned(version, recordOf(observed.facts)), times: knownOf(observed.times) }
}

/** The origin of a job's newest facts: the third part of their version. */
export function originOf(version: Version): Observation['origin'] {
  return Number(version.slice(26, 38)) === 1 ? 'rest' : 'webhook'
}

function recordOf(facts: JobFacts): JobRecord {
  const { runner } = facts
  if (runner?.tags === undefined) return facts
  return { ...facts, runner: { ...runner, tags: undefined }, runnerTags: { runner: runner.id, tags: runner.tags } }
}

/** Commutative, associative, idempotent. Returns `a` itself when `b` adds nothing. `snapshot` is that of `a`, the stored job. */
export function mergeJob(a: Job, b: Job): Job {
  const record = mergeVersioned(a.record, b.record)
  const times = mergeTimes(a.times, b.times)
  if (record === a.record && times === a.times) return a
  return { ...a, record, times }
}

/** A job's times only move forward: when it runs again its times are later, and the more precise of two equal times is the later one. */
function mergeTimes(a: JobTimes, b: JobTimes): JobTimes {
  const createdAt = later(a.createdAt, b.createdAt)
  const startedAt = later(a.startedAt, b.startedAt)
  const finishedAt = later(a.finishedAt, b.finishedAt)
  const isKnown = createdAt === a.createdAt && startedAt === a.startedAt && finishedAt === a.finishedAt
  return isKnown ? a : knownOf({ createdAt, startedAt, finishedAt })
}

/** Fields that must not survive when the same job id runs again (a retried skipped job, a manual job played again). */
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

export function viewJob(job: Job): JobView {
  const { version, facts, older } = job.record
  const { runnerTags } = facts
  const { createdAt, startedAt, finishedAt } = job.times
  const view: Record<string, unknown> = { ...facts, id: job.id, createdAt, startedAt }
  if (runnerTags !== undefined) view.runnerTags = undefined
  // Only a field older than the job's last start can be left over from an earlier run of it.
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
  if (facts.failureReason !== undefined && !hasFailed(facts.status)) view.failureReason = undefined
  return view as unknown as JobView
}

/** The view of a span that was exported. What belongs to one run of the job is forgotten when it runs again. */
export function viewSpan(job: Job, span: SpanMark): JobView {
  const { status, startedAt, finishedAt } = span
  const { record, times } = job
  const view = viewJob({
    ...job,
    record: { ...record, facts: { ...record.facts, status } },
    times: { createdAt: times.createdAt, startedAt, finishedAt },
  })
  const isLast = span.attempt === job.snapshot?.attempt && span.chunk === job.snapshot.chunk
  if (isLast && !hasMoved(job)) return view
  return { ...view, ...Object.fromEntries(ofOneRun.map(field => [field, undefined])) }
}

/** True when a job has run since its snapshot: it needs another span. */
export function hasMoved(job: Job): boolean {
  const { snapshot, times } = job
  if (snapshot === undefined) return false
  if (second(times.startedAt) > second(snapshot.startedAt)) return true
  if (second(times.finishedAt) <= second(snapshot.finishedAt)) return false
  // The snapshot has it as finished, without the time: the time that arrives now is no new work.
  return !(isFinished(snapshot.status) && snapshot.finishedAt === undefined)
}

/** Jobs may also stop, prepare, verify or only access an environment. */
export function deploys({ environment }: Pick<JobView, 'environment'>): boolean {
  return environment !== undefined && (environment.action ?? 'start') === 'start'
}

/** Longer names are cut before they are compared, UTF-16 units. */
const maxNameRead = 1_000

/** The common name of parallel jobs, as the platform groups them: `rspec` for `rspec 2/5`, `deploy` for `deploy: [eu, blue]`. */
export function groupNameOf(name: string): string {
  const part = /(?:[\s:]{1,9}(?:\[[^\][]*\]|\d{1,9}[\s:/\\]{1,9}\d{1,9})){1,3}\s{0,9}$/
  return name.slice(0, maxNameRead).replace(part, '')
}

/** Whom a runner serves, in words: `instance_type` is an `instance runner`. */
export function runnerTypeName(type: string): string {
  return `${type.replace(/_type$/, '').replaceAll('_', ' ')} runner`
}
