// What becomes of a run once it was asked about, or could not be: pure decisions, which the store runs under its lock.
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

/** How long a child looks for its parent again, and a job that still runs is asked for, ms. */
const soon = 5_000
const hour = 3_600_000
/** What the platform cannot tell for so long it is not asked for any more, ms. */
const longest = 24 * hour

/** Takes in what was answered, and what was found of its family. */
export function takingIn(key: RunKey, answer: Observation | undefined, family: Found, rules: MergeRules): RunWork {
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
        enrichment: askingOf(whole, searching, now, rules),
      }
    },
  }
}

/**
 * There is nobody to ask: the platform has no such pipeline (any more), is another one (`foreign`), or refuses. What is known of
 * an end is exported now; of a pipeline that is gone, whatever is known.
 */
export function givingUp(
  { key, detail: wants }: EnrichmentItem,
  lane: EnrichmentPriority,
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
        enrichment: why === 'refused' ? later(known, wants, lane, now) : { asked: true },
      }
    },
  }
}

/** The platform did not answer: later again, while the deadline runs. */
export function postponing({ key, detail: wants }: EnrichmentItem, lane: EnrichmentPriority): RunWork {
  return {
    key,
    jobs: [],
    decide: (known, now) =>
      known && { run: known.run, jobs: [], timing: known.timing, enrichment: later(known, wants, lane, now) },
  }
}

function later(
  { timing }: StoredRun,
  wants: EnrichmentItem['detail'],
  lane: EnrichmentPriority,
  now: Millis,
): EnrichmentChange {
  const age = now - timing.changedAt
  // Nobody else will say that a silent run has ended.
  if (age > longest && lane !== 'silent') return { asked: true }
  return { asked: true, again: { detail: wants, at: now + Math.min(hour, Math.max(soon, age / 2)) } }
}

function isStillDelaying({ timing }: StoredRun, now: Millis): boolean {
  return timing.endedAt !== undefined && timing.enrichingUntil !== undefined && now < timing.enrichingUntil
}

/** The settle delay runs from what sources told, not from what was asked for: a run that has waited settles at once. */
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

function askingOf(
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
  // The word of its end may get lost: the longer it is silent the more rarely it is asked about, but never no more.
  const pause = Math.min(hour, Math.max(silentAfter, (now - timing.changedAt) / 2))
  return { asked: true, again: { detail: 'state', priority: 'silent', at: now + pause } }
}
