// Merges observations into a run, and decides when the run is due and what to request from the platform. Pure; the store calls it while it holds the
// run's lock.
//
// 1. Observations of the same run that arrived together are first merged with each other, so that the run is read and written once.
// 2. The result is merged into the known run (`model/run.ts`). If nothing is new, nothing is written.
// 3. When the run is due next is computed from its status alone. Once it is due, `model/settle.ts` decides with all its jobs.
// 4. Features read what they need from the run (`LineStep`).
// 5. Requests for missing data are queued. `core/complete/` sends them to the REST API later, because the webhook path never waits for the platform.
import { observedRun, mergeRun, type Run } from '../../model/run.ts'
import { isAtEnd, runsOn, supplementsOf } from '../../model/attempt.ts'
import { isBlocked, isUnderWay } from '../../model/status.ts'
import { minSilence } from '../settle/silence.ts'
import type { EnrichmentChange, DetailLevel } from '../store/ports/enrichment-queue.ts'
import { originOf, type Job } from '../../model/job.ts'
import type { Millis } from '../../model/instant.ts'
import type { LineStep } from '../store/ports/reporter.ts'
import type { Observation, RunKey } from '../../model/observation.ts'
import type { RunChange, RunTiming, RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'

/** The rules for merging observations. All times are in ms. */
export interface MergeRules {
  readonly settle: number
  readonly blockedAfter: number
  readonly staleAfter: number
  /** The time in ms after which an active run without new observations is looked up on the platform. The default is 2 minutes. */
  readonly silentAfter?: number | undefined
  /** The maximum time in ms for which enrichment may delay the export of a finished run. If undefined, enrichment is off. */
  readonly enrichDeadline?: number | undefined
  readonly steps?: readonly LineStep[] | undefined
}

/** The time in ms within which a pipeline's webhook usually follows the webhook of the pipeline's first job. */
const onlyJobsAfter = 60_000

/** Returns one unit of work per run, with all observations of the run merged. */
export function mergeObservations(
  observations: readonly Observation[],
  source: SourceName | undefined,
  rules: MergeRules,
): RunWork[] {
  const byRun = new Map<string, { key: RunKey; observed: Run }>()
  for (const observation of observations) {
    const { key } = observation
    const name = `${key.instance}\n${key.pipelineId}`
    const observed = observedRun(observation)
    const before = byRun.get(name)
    byRun.set(name, { key, observed: before === undefined ? observed : mergeRun(before.observed, observed) })
  }
  return [...byRun.values()].map(({ key, observed }) => ({
    key,
    // Without a settle delay, a finished run gets its snapshot immediately, which needs all jobs.
    jobs: rules.settle === 0 && isAtEnd(observed) ? 'all' : [...observed.jobs.keys()],
    source,
    decide: (known, now) => mergeIntoRun(known, observed, now, rules),
  }))
}

/** Merges an observation into a run. Returns undefined if nothing is new, so that nothing is written. */
export function mergeIntoRun(
  known: StoredRun | undefined,
  observed: Run,
  now: Millis,
  rules: MergeRules,
): RunChange | undefined {
  const run = known === undefined ? observed : mergeRun(known.run, observed)
  if (run === known?.run) return undefined
  const jobs: Job[] = []
  for (const id of observed.jobs.keys()) {
    const job = run.jobs.get(id)
    if (job !== undefined && job !== known?.run.jobs.get(id)) jobs.push(job)
  }
  // As long as a run's pipeline is unknown, `endedAt` only records a failed lookup.
  const before = known?.run.pipeline === undefined ? undefined : known.timing
  return {
    run,
    timing: timingAfter(run, before, now, rules),
    reports: rules.steps?.flatMap(({ onObserved }) => onObserved?.(run, known?.run) ?? []),
    enrichment: enrichmentAfter(run, jobs, known, now, rules),
  }
}

/**
 * Computes when the run is due next. A run that has finished, or has changed after its last attempt, is due after the settle delay; `settle.ts` then
 * decides with all its jobs. An active run is due only after it has been silent for too long and the platform did not respond.
 */
function timingAfter(run: Run, before: RunTiming | undefined, now: Millis, rules: MergeRules): RunTiming {
  if (run.pipeline === undefined) return { changedAt: now }
  if (isAtEnd(run)) {
    const settled = now + rules.settle
    if (before?.endedAt !== undefined) return { ...before, changedAt: now, dueAt: settled }
    const enrichingUntil = rules.enrichDeadline === undefined ? undefined : now + rules.enrichDeadline
    return { changedAt: now, endedAt: now, enrichingUntil, dueAt: settled }
  }
  if (run.attempts.length > 0) return { changedAt: now, dueAt: now + rules.settle }
  if (isBlocked(run.pipeline.record.facts.status)) return { changedAt: now, dueAt: now + rules.blockedAfter }
  return { changedAt: now, dueAt: now + rules.staleAfter + (rules.enrichDeadline ?? 0) }
}

/**
 * Decides what to request from the platform: the details once the run has ended; the pipeline if only jobs were observed; the state of a run that
 * stays silent after its start; and the artifacts of a job that only a webhook reported.
 */
function enrichmentAfter(
  run: Run,
  jobs: readonly Job[],
  known: StoredRun | undefined,
  now: Millis,
  { enrichDeadline, silentAfter = minSilence, steps = [] }: MergeRules,
): EnrichmentChange | undefined {
  if (enrichDeadline === undefined) return undefined
  if (steps.some(({ needsArtifacts }) => needsArtifacts) && leavesUnknown(run, jobs)) return enrichAt('details', now)
  if (isAtEnd(run))
    return known?.run.pipeline === undefined || known.timing.endedAt === undefined
      ? enrichAt('details', now)
      : undefined
  const isContinued = runsOn(run)
  if (run.pipeline === undefined)
    return known === undefined || isContinued ? enrichAt('pipeline', now + onlyJobsAfter) : undefined
  const before = known?.run.pipeline
  // After its first job event, a pipeline is already in the queue. A pipeline that is restored from its tombstone is not.
  const begins =
    before === undefined ? known === undefined || run.attempts.length > 0 : !isUnderWay(before.record.facts.status)
  // If only job events report a retry or a played manual job, the status is still the one from before.
  const isUnderWayNow = known === undefined || isUnderWay(run.pipeline.record.facts.status) || isContinued
  return begins && isUnderWayNow ? { detail: 'state', priority: 'silent', at: now + silentAfter } : undefined
}

/**
 * Whether only a webhook reported a job, after the snapshot of the job's attempt. The job's report artifacts are then unknown, because webhooks do
 * not list them.
 */
function leavesUnknown(run: Run, jobs: readonly Job[]): boolean {
  if (run.attempts.length === 0) return false
  const supplements = supplementsOf({ ...run, jobs: new Map(jobs.map(job => [job.id, job])) })
  return supplements.some(({ record: { facts, version }, times }) => {
    return facts.kind === 'job' && times.startedAt !== undefined && originOf(version) === 'webhook'
  })
}

function enrichAt(detail: DetailLevel, at: Millis): EnrichmentChange {
  return { detail, priority: 'fresh', at }
}
