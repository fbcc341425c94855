// Decides how a response of the platform's API, or a missing one, changes a run. The functions are pure: the store calls them while it has locked the
// run.
import { mergeIntoRun, type MergeRules } from '../take-in/merge-observations.ts'
import { delayingJobs, isAtEnd } from '../../model/attempt.ts'
import { withParent } from '../../model/family.ts'
import { observedRun } from '../../model/run.ts'
import { isBlocked, isTerminal } from '../../model/status.ts'
import { minSilence } from '../settle/silence.ts'
import { maxItems, PlatformError } from '../../platform/port.ts'
import type { Fetched } from './fetch-run.ts'
import type { Found } from './parents.ts'
import type { EnrichmentItem, EnrichmentChange, EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { Millis } from '../../model/instant.ts'
import { mergePipeline } from '../../model/pipeline.ts'
import type { Observation, ObservedPipeline, RunKey } from '../../model/observation.ts'
import type { RunChange, RunTiming, RunWork, StoredRun } from '../store/ports/runs.ts'

/** The delay in ms before a child pipeline's parent is looked up again, and before an active job is fetched again. */
const soon = 5_000
const hour = 3_600_000
/** The maximum age in ms of a run's last change at which a failed request for the run is retried. */
const maxAge = 24 * hour
/**
 * If requests for a pipeline keep failing for this long (ms) while other requests succeed, the pipeline is exported with the facts that the
 * platform's list of pipelines contains.
 */
const maxFailing = 15 * 60_000

export interface FetchedRun extends Fetched {
  readonly family: Found
}

/** Merges the platform's response into the run, and into its parent if one was found. */
export function applyAnswer(
  key: RunKey,
  { observation, family, missing }: FetchedRun,
  priority: EnrichmentPriority,
  rules: MergeRules,
): RunWork {
  return {
    key,
    jobs: 'all',
    decide: (known, now) => {
      if (known === undefined) return undefined
      const change = observation === undefined ? undefined : mergeIntoRun(known, observedRun(observation), now, rules)
      const merged = change?.run ?? known.run
      const run = family.parent === undefined ? merged : withParent(merged, family.parent)
      const whole: StoredRun = { ...known, run, timing: change?.timing ?? known.timing }
      const failure = missing instanceof PlatformError ? missing : undefined
      const searching =
        !family.known && failure === undefined && run.attempts.length === 0 && isStillDelaying(whole, now)
      const waits = searching || failure?.passing === true
      // The snapshot must record that details are missing. If the platform denied them, they are requested again together with the parent. If a job
      // list was truncated at 50,000 jobs, only the parent is requested again: the number of stored jobs already indicates the truncation.
      const isCut = run.jobs.size >= maxItems
      const detail = missing === undefined || isCut ? 'family' : 'details'
      return {
        run,
        timing: timingOf(whole, known, { waits, isWhole: missing === undefined && !isCut }, now, rules),
        enrichment: searching
          ? { asked: true, again: { detail, at: now + soon } }
          : enrichmentAfter(whole, priority, missing, now, rules),
        reports: change?.reports,
      }
    },
  }
}

/**
 * Records that the pipeline has ended before its details are fetched, so that its enrichment deadline starts. Does not change the run's item in the
 * enrichment queue.
 */
export function applyEnd(end: Observation, rules: MergeRules): RunWork {
  return {
    key: end.key,
    jobs: [],
    decide: (known, now) => {
      const change = known && mergeIntoRun(known, observedRun(end), now, rules)
      return change && { ...change, enrichment: undefined }
    },
  }
}

/**
 * Why the platform did not return a pipeline. `gone`: the pipeline was deleted. `foreign`: it is on another platform. `refused`: the platform rejects
 * requests for this pipeline; `stopped`: it rejects every request. `failed`: this request fails for now; `away`: every request fails for now.
 */
export type Unanswered = 'gone' | 'foreign' | 'refused' | 'stopped' | 'failed' | 'away'

/**
 * Applies the failure of a request for a pipeline to its run. The pipeline is requested again later, unless it was deleted or is on another platform.
 * If no response is expected soon, and the run has ended or was deleted, the run is exported with the facts known so far.
 */
export function applyFailure(
  { key, detail }: EnrichmentItem,
  priority: EnrichmentPriority,
  why: Unanswered,
  rules: MergeRules,
): RunWork {
  return {
    key,
    jobs: [],
    decide: (known, now) => {
      if (known === undefined) return undefined
      const { run, timing } = known
      if (run.listed !== undefined) return listedAfter(known, run.listed, priority, why, now, rules)
      const again = later(known, detail, priority, now)
      if (why === 'failed' || why === 'away') return { run, timing, enrichment: again }
      // Only jobs of this run are known, and the platform denies its pipeline. The run counts as ended: either the source that reported the jobs also
      // reports the pipeline, or the pipeline stays unknown.
      const isUnseen = run.pipeline === undefined && (why === 'gone' || why === 'refused')
      const ended = why === 'gone' || isUnseen ? { endedAt: timing.endedAt ?? now } : {}
      const enrichingUntil = why === 'foreign' ? undefined : timing.enrichingUntil && now
      return {
        run,
        timing: { ...timing, ...ended, enrichingUntil, dueAt: timing.dueAt && now },
        enrichment: isUnseen
          ? aDayLater(detail, now, timing.changedAt)
          : why === 'refused' || why === 'stopped'
            ? again
            : { asked: true },
      }
    },
  }
}

/**
 * Decides what happens to a pipeline that the platform lists but does not return. It exists, so it is requested again even after a 404. The facts
 * from the list are used if requests for the pipeline itself are rejected, or keep failing while other requests succeed: then the run's deadline
 * starts. They are also used when no more requests will be made.
 */
function listedAfter(
  known: StoredRun,
  listed: ObservedPipeline,
  priority: EnrichmentPriority,
  why: Unanswered,
  now: Millis,
  rules: MergeRules,
): RunChange {
  const { run } = known
  // If the store does not contain the pipeline itself, `endedAt` is merely the time of the first failed request.
  const failedAt = known.timing.endedAt ?? now
  const timing = run.pipeline === undefined ? { ...known.timing, endedAt: failedAt } : known.timing
  const since = run.pipeline === undefined ? failedAt : timing.changedAt
  const isRefused = why === 'gone' || why === 'refused'
  const enrichment: EnrichmentChange =
    why === 'foreign'
      ? { asked: true }
      : isRefused && run.attempts.length > 0
        ? aDayLater('details', now, since)
        : later({ timing: { ...timing, changedAt: since } }, 'details', priority, now)
  const isLast = !('again' in enrichment) || enrichment.again === undefined
  const isOver = isTerminal(listed.facts.status) || isBlocked(listed.facts.status)
  const counts = isLast || (isOver && (isRefused || (why !== 'away' && now - since > maxFailing)))
  const observed = observedRun({ key: run.key, origin: 'rest', project: run.project.facts, pipeline: listed, jobs: [] })
  const adds = mergePipeline(run.pipeline, observed.pipeline) !== run.pipeline
  const change = counts && adds ? mergeIntoRun(known, observed, now, rules) : undefined
  if (change === undefined) return { run, timing, enrichment }
  const ended = isOver ? {} : { endedAt: now, dueAt: now }
  return { ...change, run: { ...change.run, listed }, timing: { ...change.timing, ...ended }, enrichment }
}

/** Requests the pipeline once more, a day after the platform rejected the request. */
function aDayLater(detail: EnrichmentItem['detail'], now: Millis, since: Millis): EnrichmentChange {
  return { asked: true, again: now - since < maxAge ? { detail, at: now + maxAge } : undefined }
}

function later(
  { timing }: Pick<StoredRun, 'timing'>,
  detail: EnrichmentItem['detail'],
  priority: EnrichmentPriority,
  now: Millis,
): EnrichmentChange {
  const age = now - timing.changedAt
  // A silent run is always fetched again, because a request is the only way to learn that the run has ended.
  if (age > maxAge && priority !== 'silent') return { asked: true }
  return { asked: true, again: { detail, priority, at: now + Math.min(hour, Math.max(soon, age / 2)) } }
}

function isStillDelaying({ timing }: StoredRun, now: Millis): boolean {
  return timing.endedAt !== undefined && timing.enrichingUntil !== undefined && now < timing.enrichingUntil
}

/**
 * The settle delay is counted from the last observation and not from the platform's response, so a run that has waited for the response settles at
 * once. A deadline that is still set marks the snapshot as incomplete.
 */
function timingOf(
  { run, timing }: StoredRun,
  known: StoredRun,
  { waits, isWhole }: { readonly waits: boolean; readonly isWhole: boolean },
  now: Millis,
  rules: MergeRules,
): RunTiming {
  const status = run.pipeline?.record.facts.status ?? ''
  if (isBlocked(status) && run.attempts.length === 0) {
    const { changedAt } = known.timing
    const deadline = waits ? (rules.enrichDeadline ?? 0) : 0
    return { changedAt, dueAt: Math.max(now, changedAt + rules.blockedAfter + deadline) }
  }
  if (!isAtEnd(run)) return timing
  const given = isWhole ? undefined : timing.enrichingUntil && now
  const enrichingUntil = waits ? timing.enrichingUntil : given
  if (known.timing.endedAt === undefined) return { ...timing, enrichingUntil }
  const { changedAt } = known.timing
  return { ...timing, changedAt, enrichingUntil, dueAt: Math.max(now, changedAt + rules.settle) }
}

function enrichmentAfter(
  whole: StoredRun,
  priority: EnrichmentPriority,
  missing: Fetched['missing'],
  now: Millis,
  { silentAfter = minSilence }: MergeRules,
): EnrichmentChange {
  const { run, timing } = whole
  const status = run.pipeline?.record.facts.status ?? ''
  if (isTerminal(status) || isBlocked(status)) {
    const isRunning = missing === undefined && isTerminal(status) && delayingJobs(run).length > 0
    if (!isRunning && !(missing instanceof PlatformError)) return { asked: true }
    // A run for which the platform has responded is no longer silent.
    return later(whole, 'details', priority === 'silent' ? 'fresh' : priority, now)
  }
  // The webhook that reports the end of the run may get lost, so an active run is fetched at growing intervals.
  const pause = Math.min(hour, Math.max(silentAfter, (now - timing.changedAt) / 2))
  return { asked: true, again: { detail: 'state', priority: 'silent', at: now + pause } }
}
