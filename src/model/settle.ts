// Decides when a run is settled and its snapshot is taken, and whether a newer pipeline of its ref superseded it. Pure:
// `plan(run, rules, clock) → what to do now, or when to look again`. It is called until it answers `wait` or `rest`.
//
// 1. A run of which only jobs are known rests: its pipeline may still be observed.
// 2. The open attempt has ended: it waits for the settle delay, for enrichment and for active jobs, each up to its deadline. Then its snapshot is due.
// 3. The open attempt has not ended: a blocked one is due after `blockedAfter`, a silent one after `staleAfter`, and one that the platform has deleted at
//    once. Its snapshot is marked incomplete.
// 4. Jobs that became known after the snapshot of their attempt are due as supplements, after the settle delay.
//
// An attempt comes before supplements: its snapshot may contain what would be a supplement otherwise.
import { delayingJobs, hasActiveJobs, isAtEnd, isOpen, jobsOfAttempt, supplementsOf } from './attempt.ts'
import { snapshotAttempt, snapshotSupplements, type Snapshot, type SnapshotOptions } from './snapshot.ts'
import { isBlocked, wasCanceled } from './status.ts'
import type { Millis } from './instant.ts'
import type { Run, RunHead } from './run.ts'
import type { TraceContext } from './trace-context.ts'

/** All in milliseconds. */
export interface SettleRules extends SnapshotOptions {
  /** How long a finished run may still change before it is exported. */
  readonly settle: number
  /** How long an active job or a missing enrichment may delay the export of a finished run. */
  readonly deadline: number
  readonly blockedAfter: number
  readonly staleAfter: number
}

/** What is stored of a run's timing, on the database's clock. */
export interface RunClock {
  readonly now: Millis
  /** The last change. */
  readonly changedAt: Millis
  /** When the open attempt was first observed as ended; undefined while it has not ended. */
  readonly endedAt?: Millis | undefined
  /** Enrichment may delay the snapshot until then. Undefined: it is done or off. A time in the past: details are missing. */
  readonly enrichingUntil?: Millis | undefined
}

export type Plan =
  /** Nothing is to be done until something new is observed. */
  | { readonly step: 'rest' }
  /** Look again at `due`. */
  | { readonly step: 'wait'; readonly due: Millis; readonly endedAt?: Millis | undefined }
  | {
      readonly step: 'snapshot'
      readonly why: 'settled' | 'blocked' | 'stale' | 'supplement'
      readonly snapshot: Snapshot
    }

/** `trace` is for the first attempt; later ones keep that of the first. */
export function plan(run: Run, trace: TraceContext, rules: SettleRules, clock: RunClock): Plan {
  if (run.pipeline === undefined) return { step: 'rest' }
  const open = isOpen(run) ? planAttempt(run, run.attempts[0]?.trace ?? trace, rules, clock) : undefined
  if (open?.step === 'snapshot') return open
  const supplements = supplementsOf(run)
  if (supplements.length === 0) return open ?? { step: 'rest' }
  const due = clock.changedAt + rules.settle
  if (clock.now < due) return { step: 'wait', due: Math.min(due, open?.due ?? due), endedAt: open?.endedAt }
  return { step: 'snapshot', why: 'supplement', snapshot: snapshotSupplements(run, supplements, rules) }
}

function planAttempt(
  run: Run,
  trace: TraceContext,
  rules: SettleRules,
  clock: RunClock,
): Exclude<Plan, { step: 'rest' }> {
  const status = run.pipeline?.record.facts.status ?? ''
  if (isAtEnd(run)) {
    const endedAt = clock.endedAt ?? clock.now
    const settled = clock.changedAt + rules.settle
    const enriched = clock.enrichingUntil ?? 0
    const idle = delayingJobs(run).length === 0 ? 0 : endedAt + rules.deadline
    const due = Math.max(settled, enriched, idle)
    if (clock.now < due) return { step: 'wait', due, endedAt }
    const jobs = jobsOfAttempt(run, { withActive: false })
    const options = { ...rules, lacksDetails: clock.enrichingUntil !== undefined }
    return { step: 'snapshot', why: 'settled', snapshot: snapshotAttempt(run, jobs, trace, false, clock.now, options) }
  }
  const blocked = isBlocked(status) && !hasActiveJobs(run)
  const due = clock.changedAt + (blocked ? rules.blockedAfter : rules.staleAfter)
  // Marked as ended though its status is not terminal: it was deleted on the platform.
  const isGone = clock.endedAt !== undefined
  if (clock.now < due && !isGone) return { step: 'wait', due }
  const jobs = jobsOfAttempt(run, { withActive: true })
  return {
    step: 'snapshot',
    why: blocked ? 'blocked' : 'stale',
    snapshot: snapshotAttempt(run, jobs, trace, true, clock.now, rules),
  }
}

/** True if it must be determined: a canceled job awaits its snapshot. */
export function mayBeSuperseded({ pipeline, jobs }: Run): boolean {
  if (pipeline?.record.facts.ref === undefined) return false
  for (const { record, snapshot } of jobs.values()) {
    if (wasCanceled(record.facts.status) && snapshot === undefined) return true
  }
  return false
}

/**
 * `newer`: pipelines of its project with greater ids. One of the same ref must have existed when this one ended. Child pipelines have their
 * parent's ref and do not count.
 */
export function isSuperseded({ pipeline }: RunHead, newer: readonly RunHead[]): boolean {
  const end = pipeline?.times.finishedAt ?? Infinity
  return newer.some(({ pipeline: other }) => {
    const { ref, source } = other?.record.facts ?? {}
    const isOfRef = ref !== undefined && ref === pipeline?.record.facts.ref
    return isOfRef && source !== 'parent_pipeline' && (other?.times.createdAt ?? Infinity) <= end
  })
}
