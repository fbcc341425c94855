// What becomes of a run once it was asked about, or could not be: pure decisions, which the store runs under its lock.
import { absorb, type AbsorbRules } from './absorb.ts'
import { delayingJobs, isAtEnd } from '../model/attempt.ts'
import { withParent } from '../model/family.ts'
import { hearRun } from '../model/run.ts'
import { isBlocked, isTerminal } from '../model/status.ts'
import type { Found } from './parents.ts'
import type { AskingChange, AskingWants } from '../store/asking.ts'
import type { Millis } from '../model/instant.ts'
import type { Observation, RunKey } from '../model/observation.ts'
import type { RunTiming, RunWork, StoredRun } from '../store/runs.ts'

/** How long a child looks for its parent again, and a job that still runs is asked for, ms. */
const soon = 5_000
const minute = 60_000
const hour = 60 * minute
/** What the platform cannot tell for so long it is not asked for any more, ms. */
const longest = 24 * hour

/** Takes in what was answered, and what was found of its family. */
export function takingIn(key: RunKey, answer: Observation | undefined, family: Found, rules: AbsorbRules): RunWork {
  return {
    key,
    jobs: 'all',
    decide: (known, now) => {
      if (known === undefined) return undefined
      const change = answer === undefined ? undefined : absorb(known, hearRun(answer), now, rules)
      const merged = change?.run ?? known.run
      const run = family.parent === undefined ? merged : withParent(merged, family.parent)
      const whole: StoredRun = { ...known, run, timing: change?.timing ?? known.timing }
      const searching = !family.known && run.attempts.length === 0 && isStillDelaying(whole, now)
      return {
        run,
        jobs: change?.jobs ?? [],
        timing: timingOf(whole, known, searching, now, rules),
        asking: askingOf(whole, searching, answer !== undefined, now, rules),
      }
    },
  }
}

/** The platform said that there is no such thing, or refuses: what is known is exported, now. */
export function givingUp(key: RunKey, wants: AskingWants, forGood: boolean): RunWork {
  return {
    key,
    jobs: [],
    decide: (known, now) =>
      known && {
        run: known.run,
        jobs: [],
        timing: { ...known.timing, enrichingUntil: undefined, dueAt: known.timing.dueAt && now },
        asking: forGood ? { asked: true } : later(known, wants, now),
      },
  }
}

/** The platform did not answer: later again, while the deadline runs. */
export function postponing(key: RunKey, wants: AskingWants): RunWork {
  return {
    key,
    jobs: [],
    decide: (known, now) =>
      known && { run: known.run, jobs: [], timing: known.timing, asking: later(known, wants, now) },
  }
}

function later({ timing }: StoredRun, wants: AskingWants, now: Millis): AskingChange {
  const age = now - timing.changedAt
  if (age > longest) return { asked: true }
  return { asked: true, again: { ask: wants, at: now + Math.min(hour, Math.max(soon, age / 2)) } }
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
  rules: AbsorbRules,
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
  wasAsked: boolean,
  now: Millis,
  rules: AbsorbRules,
): AskingChange {
  const { run, timing, heardFrom } = whole
  if (searching) return { asked: true, again: { ask: 'family', at: now + soon } }
  const status = run.pipeline?.record.facts.status ?? ''
  if (isTerminal(status)) {
    return delayingJobs(run).length > 0 ? later(whole, 'details', now) : { asked: true }
  }
  const followed = heardFrom.poller !== undefined || heardFrom.backfill !== undefined
  if (followed || isBlocked(status) || run.attempts.length > 0) return { asked: true }
  if (!wasAsked) return { asked: true, again: { ask: 'state', at: now + rules.staleAfter } }
  // Only its jobs tell of it: nobody else will say when it ends.
  const age = now - (run.pipeline?.times.createdAt ?? timing.changedAt)
  return { asked: true, again: { ask: 'state', at: now + Math.min(hour, Math.max(minute, age / 4)) } }
}
