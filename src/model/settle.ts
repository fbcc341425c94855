// Decides when a run is settled so that its snapshot is taken, and whether a newer pipeline of its ref superseded it. Pure:
// `plan(run, rules, clock) → what to do now, or when to check again`. The caller repeats the call until the step is `wait` or `rest`.
//
// 1. If only jobs of the run are known, it rests, because its pipeline may still be observed.
// 2. If the open attempt has ended, it waits for the settle delay, for enrichment and for active jobs, each up to its deadline. Then its snapshot is
//    due.
// 3. If the open attempt has not ended, its snapshot is due after `blockedAfter` if it is blocked, after `staleAfter` if nothing is observed, and
//    immediately if the platform has deleted the pipeline. Such a snapshot is marked incomplete.
// 4. Jobs that are first observed after the snapshot of their attempt are due as supplements, after the settle delay.
//
// An attempt comes before supplements, because its snapshot may contain jobs that would otherwise be supplements.
import { delayingJobs, hasActiveJobs, isAtEnd, isOpen, jobsOfAttempt, supplementsOf } from './attempt.ts'
import { snapshotAttempt, snapshotSupplements, type Snapshot, type SnapshotOptions } from './snapshot.ts'
import { isBlocked, wasCanceled } from './status.ts'
import type { Millis } from './instant.ts'
import type { Run, RunHead } from './run.ts'
import type { TraceContext } from './trace-context.ts'

/** The delays after which a run's snapshot is taken, ms. */
export interface SettleRules extends SnapshotOptions {
  /** How long a finished run must remain unchanged before it is exported. */
  readonly settle: number
  /** How long an active job or missing enrichment may delay the export of a finished run. */
  readonly deadline: number
  readonly blockedAfter: number
  readonly staleAfter: number
}

/** The stored times of a run, by the database's clock. */
export interface RunClock {
  readonly now: Millis
  readonly changedAt: Millis
  /** When the open attempt was first observed as ended; undefined if it has not ended. */
  readonly endedAt?: Millis | undefined
  /**
   * The deadline up to which enrichment may delay the snapshot. If undefined, enrichment is done or off. If the deadline has passed, details are
   * missing.
   */
  readonly enrichingUntil?: Millis | undefined
}

export type Plan =
  /** The caller does nothing until something new is observed. */
  | { readonly step: 'rest' }
  /** The caller plans the run again at `due`. */
  | { readonly step: 'wait'; readonly due: Millis; readonly endedAt?: Millis | undefined }
  | {
      readonly step: 'snapshot'
      readonly why: 'settled' | 'blocked' | 'stale' | 'supplement'
      readonly snapshot: Snapshot
    }

/** Plans the next step for a run. `trace` is used for the first attempt; later attempts use the trace of the first one. */
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
  // If a run is marked as ended although its status is not terminal, the pipeline was deleted on the platform.
  const isGone = clock.endedAt !== undefined
  if (clock.now < due && !isGone) return { step: 'wait', due }
  const jobs = jobsOfAttempt(run, { withActive: true })
  return {
    step: 'snapshot',
    why: blocked ? 'blocked' : 'stale',
    snapshot: snapshotAttempt(run, jobs, trace, true, clock.now, rules),
  }
}

/** True if the caller must determine whether the run was superseded, because it has a canceled job without a snapshot. */
export function mayBeSuperseded({ pipeline, jobs }: Run): boolean {
  if (pipeline?.record.facts.ref === undefined) return false
  for (const { record, snapshot } of jobs.values()) {
    if (wasCanceled(record.facts.status) && snapshot === undefined) return true
  }
  return false
}

/**
 * Whether a newer pipeline of the same ref already existed when this one ended. `newer`: pipelines of the same project with greater IDs. Child
 * pipelines do not count, because they have their parent's ref.
 */
export function isSuperseded({ pipeline }: RunHead, newer: readonly RunHead[]): boolean {
  const end = pipeline?.times.finishedAt ?? Infinity
  return newer.some(({ pipeline: other }) => {
    const { ref, source } = other?.record.facts ?? {}
    const isOfRef = ref !== undefined && ref === pipeline?.record.facts.ref
    return isOfRef && source !== 'parent_pipeline' && (other?.times.createdAt ?? Infinity) <= end
  })
}
