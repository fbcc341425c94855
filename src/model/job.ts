// Merges observations of one job of a run, and builds the view of the merged job.
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
import { isActive, isFinished, isKnownStatus, rankOf, hasFailed } from './status.ts'
import type { ObservedJob, JobFacts, JobTimes, Observation, Runner } from './observation.ts'

/**
 * The mark of an exported span: those properties of the span that the stored job lacks, or that may have changed in the job since the export.
 * `run-chunks.ts` rebuilds the span from the job and its mark.
 */
export interface SpanMark {
  readonly attempt: number
  /** The number of the chunk that contains the span; undefined if the job was restored from a tombstone, which does not contain that number. */
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

/**
 * The job as its last snapshot contains it. If the job runs again under the same ID (a manual job that is played again), the stored job's times
 * differ from these.
 */
export interface SnapshotMark extends SpanMark {
  /** Number of spans of this job in all snapshots. */
  readonly spans: number
  /** The marks of the job's spans before the last one, in order. */
  readonly earlier?: readonly SpanMark[] | undefined
}

/** The marks of all spans of a job, in order. */
export function spansOf({ earlier = [], spans: _, ...last }: SnapshotMark): readonly SpanMark[] {
  return [...earlier, last]
}

/** The facts of a job in the form in which they are merged. The runner's tags are a separate field, because REST reports the runner without them. */
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

/** A job as the rest of the code sees it, with the facts and times of its last run. */
export interface JobView extends JobFacts, JobTimes {
  readonly id: number
}

/** Converts one observation of a job. Versions are compared by the job's times, then by the rank of its status; if both are equal, REST wins. */
export function observedJob(observed: ObservedJob, origin: Observation['origin']): Job {
  const newest = second(later(observed.times.startedAt, observed.times.finishedAt))
  const version = versionOf(newest, rankOf(observed.facts.status), origin === 'rest' ? 1 : 0, observed.facts.status)
  return { id: observed.id, record: versioned(version, recordOf(observed.facts)), times: knownOf(observed.times) }
}

/** The origin of a job's newest facts. It is the third part of their version. */
export function originOf(version: Version): Observation['origin'] {
  return Number(version.slice(26, 38)) === 1 ? 'rest' : 'webhook'
}

function recordOf(facts: JobFacts): JobRecord {
  const { runner } = facts
  if (runner?.tags === undefined) return facts
  return { ...facts, runner: { ...runner, tags: undefined }, runnerTags: { runner: runner.id, tags: runner.tags } }
}

/**
 * Merges two observations of a job. It is commutative, associative and idempotent, and returns `a` itself if `b` adds nothing. `snapshot` is taken
 * from `a`, the stored job.
 */
export function mergeJob(a: Job, b: Job): Job {
  const record = mergeVersioned(a.record, b.record)
  const times = mergeTimes(a.times, b.times)
  if (record === a.record && times === a.times) return a
  return { ...a, record, times }
}

/**
 * Merges a job's times. The later time wins, because a job that runs again has later times. If two times are in the same second, the later one is
 * more precise.
 */
function mergeTimes(a: JobTimes, b: JobTimes): JobTimes {
  const createdAt = later(a.createdAt, b.createdAt)
  const startedAt = later(a.startedAt, b.startedAt)
  const finishedAt = later(a.finishedAt, b.finishedAt)
  const isKnown = createdAt === a.createdAt && startedAt === a.startedAt && finishedAt === a.finishedAt
  return isKnown ? a : knownOf({ createdAt, startedAt, finishedAt })
}

/**
 * Fields that belong to one run of a job. They must not survive if the same job ID runs again (a retried skipped job, a manual job that is played
 * again).
 */
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
  // A field can be left over from an earlier run of the job only if it is older than the job's last start.
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
  const isRunning = isKnownStatus(facts.status) && isActive(facts.status)
  view.finishedAt = isFinished(facts.status) || (!isRunning && !runsAgain) ? finishedAt : undefined
  if (facts.failureReason !== undefined && !hasFailed(facts.status)) view.failureReason = undefined
  return view as unknown as JobView
}

/**
 * The view of a span that was exported. If the job has run again since then, fields that belong to a single run are undefined, because the stored job
 * no longer has them.
 */
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

/** True if a job ran again after its snapshot, so that it needs another span. */
export function hasMoved(job: Job): boolean {
  const { snapshot, times } = job
  if (snapshot === undefined) return false
  if (second(times.startedAt) > second(snapshot.startedAt)) return true
  if (second(times.finishedAt) <= second(snapshot.finishedAt)) return false
  // If the job was already finished in the snapshot but lacked a finish time, a finish time that arrives now is not new work.
  return !(isFinished(snapshot.status) && snapshot.finishedAt === undefined)
}

/** Whether a job deploys to its environment. Jobs may also stop, prepare, verify or only access an environment. */
export function deploys({ environment }: Pick<JobView, 'environment'>): boolean {
  return environment !== undefined && (environment.action ?? 'start') === 'start'
}

/** Maximum length of a job name that is parsed, UTF-16 units. Longer names are truncated. */
const maxNameRead = 1_000

/** The common name of parallel jobs, as the platform groups them: `rspec` for `rspec 2/5`, and `deploy` for `deploy: [eu, blue]`. */
export function groupNameOf(name: string): string {
  const part = /(?:[\s:]{1,9}(?:\[[^\][]*\]|\d{1,9}[\s:/\\]{1,9}\d{1,9})){1,3}\s{0,9}$/
  return name.slice(0, maxNameRead).replace(part, '')
}

/** The human-readable name of a runner type: `instance_type` becomes `instance runner`. */
export function runnerTypeName(type: string): string {
  return `${type.replace(/_type$/, '').replaceAll('_', ' ')} runner`
}
