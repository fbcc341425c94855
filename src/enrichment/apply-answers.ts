// Decides what an answer of the platform, or its absence, changes in a run. Pure; the store calls it while it holds the run's lock.
import { mergeIntoRun, type MergeRules } from '../processing/merge-observations.ts'
import { delayingJobs, isAtEnd } from '../model/attempt.ts'
import { withParent } from '../model/family.ts'
import { observedRun } from '../model/run.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { minSilence } from '../processing/silence.ts'
import { maxItems, PlatformError } from '../platform/port.ts'
import type { Fetched } from './fetch-run.ts'
import type { Found } from './parents.ts'
import type { EnrichmentItem, EnrichmentChange, EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { Millis } from '../model/instant.ts'
import type { Observation, RunKey } from '../model/observation.ts'
import type { RunTiming, RunWork, StoredRun } from '../store/ports/runs.ts'

/** The pause before a child's parent is searched for again, and before an active job is requested again, ms. */
const soon = 5_000
const hour = 3_600_000
/** After this time without an answer no more requests are sent, ms. */
const longest = 24 * hour

export interface FetchedRun extends Fetched {
  readonly family: Found
}

/** Merges the answer and the parent, if one was found. */
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
      // Missing details must be known at the snapshot. Refused details are requested again with the parent, but not 50,000 jobs, whose number shows the cut.
      const isCut = run.jobs.size >= maxItems
      const detail = missing === undefined || isCut ? 'family' : 'details'
      return {
        run,
        jobs: change?.jobs ?? [],
        timing: timingOf(whole, known, { waits, isWhole: missing === undefined && !isCut }, now, rules),
        enrichment: searching
          ? { asked: true, again: { detail, at: now + soon } }
          : enrichmentAfter(whole, priority, missing, now, rules),
        lateReads: change?.lateReads,
      }
    },
  }
}

/** Stores that the pipeline has ended before its details are fetched: the deadline begins. Its item of the queue stays as it is. */
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
 * No answer will come: the pipeline was deleted (`gone`), is on another platform (`foreign`), access to it is refused, or to everything (`stopped`). If
 * the run has ended, or is gone, it is exported as known so far.
 */
export function giveUp(
  { key, detail }: EnrichmentItem,
  priority: EnrichmentPriority,
  why: 'gone' | 'foreign' | 'refused' | 'stopped',
): RunWork {
  return {
    key,
    jobs: [],
    decide: (known, now) => {
      if (known === undefined) return undefined
      const { timing } = known
      // Only a list shows it: it is requested again a day later, not in every round of the poller (`isNew`).
      const isOnlyListed = known.run.pipeline === undefined && (why === 'gone' || why === 'refused')
      const ended = why === 'gone' || isOnlyListed ? { endedAt: timing.endedAt ?? now } : {}
      const enrichingUntil = why === 'foreign' ? undefined : timing.enrichingUntil && now
      return {
        run: known.run,
        jobs: [],
        timing: { ...timing, ...ended, enrichingUntil, dueAt: timing.dueAt && now },
        enrichment: isOnlyListed
          ? { asked: true, again: now - timing.changedAt < longest ? { detail, at: now + longest } : undefined }
          : why === 'refused' || why === 'stopped'
            ? later(known, detail, priority, now)
            : { asked: true },
      }
    },
  }
}

/** The platform did not answer: it is asked again later, while the deadline runs. */
export function tryLater({ key, detail }: EnrichmentItem, priority: EnrichmentPriority): RunWork {
  return {
    key,
    jobs: [],
    decide: (known, now) =>
      known && { run: known.run, jobs: [], timing: known.timing, enrichment: later(known, detail, priority, now) },
  }
}

function later(
  { timing }: StoredRun,
  detail: EnrichmentItem['detail'],
  priority: EnrichmentPriority,
  now: Millis,
): EnrichmentChange {
  const age = now - timing.changedAt
  // For a silent run this is the only way to learn that it has ended.
  if (age > longest && priority !== 'silent') return { asked: true }
  return { asked: true, again: { detail, priority, at: now + Math.min(hour, Math.max(soon, age / 2)) } }
}

function isStillDelaying({ timing }: StoredRun, now: Millis): boolean {
  return timing.endedAt !== undefined && timing.enrichingUntil !== undefined && now < timing.enrichingUntil
}

/**
 * The settle delay counts from the last observation, not from this answer: a run that has waited for the answer settles at once. A deadline that is
 * not removed marks the snapshot as one without all details.
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
    // It is not silent any more.
    return later(whole, 'details', priority === 'silent' ? 'fresh' : priority, now)
  }
  // The webhook of its end may get lost, so the run is looked up while it is open, at growing intervals.
  const pause = Math.min(hour, Math.max(silentAfter, (now - timing.changedAt) / 2))
  return { asked: true, again: { detail: 'state', priority: 'silent', at: now + pause } }
}
