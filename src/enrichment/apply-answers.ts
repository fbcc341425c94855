// Decides what an answer of the platform, or its absence, changes in a run. Pure; the store calls it while it holds the run's lock.
import { mergeIntoRun, type MergeRules } from '../processing/merge-observations.ts'
import { delayingJobs, isAtEnd } from '../model/attempt.ts'
import { withParent } from '../model/family.ts'
import { observedRun } from '../model/run.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import { leastSilence } from '../processing/silence.ts'
import type { Found } from './parents.ts'
import type { EnrichmentItem, EnrichmentChange, EnrichmentPriority } from '../store/ports/enrichment-queue.ts'
import type { Millis } from '../model/instant.ts'
import type { Observation, RunKey } from '../model/observation.ts'
import type { RunTiming, RunWork, StoredRun } from '../store/ports/runs.ts'

/** The pause before a child's parent is searched for again, and before a running job is asked about again, ms. */
const soon = 5_000
const hour = 3_600_000
/** After so long without an answer the platform is not asked any more, ms. */
const longest = 24 * hour

/** Merges the answer and the parent, if one was found. */
export function applyAnswer(key: RunKey, answer: Observation | undefined, family: Found, rules: MergeRules): RunWork {
  return {
    key,
    jobs: 'all',
    decide: (known, now) => {
      if (known === undefined) return undefined
      const change = answer === undefined ? undefined : mergeIntoRun(known, observedRun(answer), now, rules)
      const merged = change?.run ?? known.run
      const run = family.parent === undefined ? merged : withParent(merged, family.parent)
      const whole: StoredRun = { ...known, run, timing: change?.timing ?? known.timing }
      const searching = !family.known && run.attempts.length === 0 && isStillDelaying(whole, now)
      return {
        run,
        jobs: change?.jobs ?? [],
        timing: timingOf(whole, known, searching, now, rules),
        enrichment: enrichmentAfter(whole, searching, now, rules),
        lateReads: change?.lateReads,
      }
    },
  }
}

/**
 * No answer will come: the pipeline was deleted (`gone`), is on another platform (`foreign`), or access is refused. If the run has ended, or is gone,
 * it is exported as known so far.
 */
export function giveUp(
  { key, detail }: EnrichmentItem,
  priority: EnrichmentPriority,
  why: 'gone' | 'foreign' | 'refused',
): RunWork {
  return {
    key,
    jobs: [],
    decide: (known, now) => {
      if (known === undefined) return undefined
      const { timing } = known
      const ended = why === 'gone' ? { endedAt: timing.endedAt ?? now } : {}
      return {
        run: known.run,
        jobs: [],
        timing: { ...timing, ...ended, enrichingUntil: undefined, dueAt: timing.dueAt && now },
        enrichment: why === 'refused' ? later(known, detail, priority, now) : { asked: true },
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
  return { asked: true, again: { detail, at: now + Math.min(hour, Math.max(soon, age / 2)) } }
}

function isStillDelaying({ timing }: StoredRun, now: Millis): boolean {
  return timing.endedAt !== undefined && timing.enrichingUntil !== undefined && now < timing.enrichingUntil
}

/** The settle delay counts from the last observation, not from this answer: a run that has waited for the answer settles at once. */
function timingOf(
  { run, timing }: StoredRun,
  known: StoredRun,
  searching: boolean,
  now: Millis,
  rules: MergeRules,
): RunTiming {
  const status = run.pipeline?.record.facts.status ?? ''
  if (isBlocked(status) && run.attempts.length === 0) {
    const { changedAt } = known.timing
    return { changedAt, dueAt: Math.max(now, changedAt + rules.blockedAfter) }
  }
  if (!isAtEnd(run)) return timing
  const enrichingUntil = searching ? timing.enrichingUntil : undefined
  if (known.timing.endedAt === undefined) return { ...timing, enrichingUntil }
  const { changedAt } = known.timing
  return { ...timing, changedAt, enrichingUntil, dueAt: Math.max(now, changedAt + rules.settle) }
}

function enrichmentAfter(
  whole: StoredRun,
  searching: boolean,
  now: Millis,
  { silentAfter = leastSilence }: MergeRules,
): EnrichmentChange {
  const { run, timing } = whole
  if (searching) return { asked: true, again: { detail: 'family', at: now + soon } }
  const status = run.pipeline?.record.facts.status ?? ''
  if (isTerminal(status)) {
    return delayingJobs(run).length > 0 ? later(whole, 'details', 'fresh', now) : { asked: true }
  }
  if (isBlocked(status)) return { asked: true }
  // The webhook of its end may get lost, so the platform is asked for as long as the run is open, at growing intervals.
  const pause = Math.min(hour, Math.max(silentAfter, (now - timing.changedAt) / 2))
  return { asked: true, again: { detail: 'state', priority: 'silent', at: now + pause } }
}
