// How an observation enters a run: merge it, write what changed, say when the run is due again. Pure; the store calls it under a lock.
import { observedRun, mergeRun, type Run } from '../model/run.ts'
import { changeOfRun, type Change } from '../model/change.ts'
import { isAtEnd, supplementsOf } from '../model/attempt.ts'
import { isBlocked, isUnderWay } from '../model/status.ts'
import { leastSilence } from './silence.ts'
import type { EnrichmentChange, DetailLevel } from '../store/ports/enrichment-queue.ts'
import { originOf, type Job } from '../model/job.ts'
import type { LateJobRead } from '../store/ports/job-reads.ts'
import type { Millis } from '../model/instant.ts'
import type { LateJobReads } from './job-reads.ts'
import type { Observation, RunKey } from '../model/observation.ts'
import type { RunChange, RunTiming, RunWork, SourceName, StoredRun } from '../store/ports/runs.ts'

/** Times in milliseconds. */
export interface MergeRules {
  readonly settle: number
  readonly blockedAfter: number
  readonly staleAfter: number
  /** How long a run under way may be silent, at the least, before the platform is asked about it; 2 minutes by default. */
  readonly silentAfter?: number | undefined
  /** How long enrichment may delay a finished run; undefined: enrichment is off. */
  readonly enrichDeadline?: number | undefined
  /** What is to be read about the inside of jobs when more becomes known of them after their snapshots; undefined: nothing. */
  readonly lateReads?: LateJobReads | undefined
  /** So much later what a pipeline says of its change is counted; undefined: changes are not counted. */
  readonly changeCountIn?: number | undefined
}

/** A pipeline's own event is usually no further away from its first job's than this, ms. */
const onlyJobsAfter = 60_000

/** One piece of work per run: all observations of it are merged before anything is written. */
export function mergeWork(
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
    // Without a settle delay the snapshot of what has ended is taken at once, and that needs all jobs.
    jobs: rules.settle === 0 && isAtEnd(observed) ? 'all' : [...observed.jobs.keys()],
    source,
    decide: (known, now) => mergeIntoRun(known, observed, now, rules),
  }))
}

/** Undefined when nothing is new: then nothing is written. */
export function mergeIntoRun(
  known: StoredRun | undefined,
  observed: Run,
  now: Millis,
  rules: MergeRules,
): RunChange | undefined {
  const run = known === undefined ? observed : mergeRun(known.run, observed)
  if (run === known?.run) return undefined
  const jobs = [...observed.jobs.keys()].flatMap(id => {
    const job = run.jobs.get(id)
    return job === undefined || job === known?.run.jobs.get(id) ? [] : [job]
  })
  return {
    run,
    jobs,
    timing: timingAfter(run, known?.timing, now, rules),
    changes: changesAfter(run, known?.run, rules),
    enrichment: enrichmentAfter(run, jobs, known, now, rules),
    ...(known !== undefined && { lateReads: lateReadsOf(jobs, known.run, run.project.facts.path, rules) }),
  }
}

function lateReadsOf(
  jobs: readonly Job[],
  known: Run,
  path: string | undefined,
  { lateReads }: MergeRules,
): LateJobRead[] {
  if (lateReads === undefined) return []
  return jobs.flatMap(job => {
    const before = job.snapshot && known.jobs.get(job.id)
    return before === undefined ? [] : lateReads(before, job, path)
  })
}

/**
 * When the run is due next. A run that has come to its end, or that may have something beyond its last attempt, after the settle delay:
 * `settle.ts` then decides with all jobs at hand. A running one only when it has been silent for too long, and the platform has been
 * asked in vain.
 */
export function timingAfter(run: Run, before: RunTiming | undefined, now: Millis, rules: MergeRules): RunTiming {
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
 * What the platform is to be asked: at each end for the details; for the pipeline itself where only its jobs were observed; from each
 * beginning on whether it has ended, should it go silent; and what a job has left that no answer had.
 */
function enrichmentAfter(
  run: Run,
  jobs: readonly Job[],
  known: StoredRun | undefined,
  now: Millis,
  { enrichDeadline, silentAfter = leastSilence, lateReads }: MergeRules,
): EnrichmentChange | undefined {
  if (enrichDeadline === undefined) return undefined
  if (lateReads !== undefined && leavesUnknown(run, jobs)) return enrichAt('details', now)
  if (isAtEnd(run)) return known?.timing.endedAt === undefined ? enrichAt('details', now) : undefined
  if (known === undefined && run.pipeline === undefined) return enrichAt('pipeline', now + onlyJobsAfter)
  const before = known?.run.pipeline
  const begins = known === undefined || (before !== undefined && !isUnderWay(before.record.facts.status))
  const isUnderWayNow = known === undefined || isUnderWay(run.pipeline?.record.facts.status ?? '')
  return begins && isUnderWayNow ? { detail: 'state', priority: 'silent', at: now + silentAfter } : undefined
}

/** A job that only a webhook reported, after the snapshot of its attempt: webhooks do not say what a job leaves. */
function leavesUnknown(run: Run, jobs: readonly Job[]): boolean {
  if (run.attempts.length === 0) return false
  const supplements = supplementsOf({ ...run, jobs: new Map(jobs.map(job => [job.id, job])) })
  return supplements.some(({ record: { facts, version }, times }) => {
    return facts.kind === 'job' && times.startedAt !== undefined && originOf(version) === 'webhook'
  })
}

/** Said once: most news of a pipeline says nothing new of its change. */
function changesAfter(run: Run, known: Run | undefined, { changeCountIn: countIn }: MergeRules): RunChange['changes'] {
  if (countIn === undefined || run.pipeline === known?.pipeline) return undefined
  const change = changeOfRun(run)
  const before = known && changeOfRun(known)
  // Some sources do not say that it comes from a fork: the first that named the change counts.
  if (change === undefined || (before?.iid === change.iid && isSame(change.pipeline, before.pipeline))) return undefined
  return [{ change, countIn }]
}

function isSame(a: Change['pipeline'], b: Change['pipeline']): boolean {
  return a?.createdAt === b?.createdAt
}

function enrichAt(detail: DetailLevel, at: Millis): EnrichmentChange {
  return { detail: detail, priority: 'fresh', at }
}
