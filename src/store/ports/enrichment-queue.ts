// The enrichment queue: which runs the platform's API is still to be asked about, when, and at which level of detail; and which job
// started which pipeline.
import type { Millis } from '../../model/instant.ts'
import type { RunKey } from '../../model/observation.ts'

/** Pipelines of the day, runs under way of which nothing more is observed, and what a backfill found: none waits for another. */
export type EnrichmentPriority = 'fresh' | 'silent' | 'backfill'

/**
 * What for, the least first: its pipeline, if that is still unknown; where a child comes from; how the pipeline stands; that
 * and, or (when its end is known) only, the jobs and bridges of its end.
 */
export const detailLevels = ['pipeline', 'family', 'state', 'details'] as const
export type DetailLevel = (typeof detailLevels)[number]

/** What a decision on a run changes in the queue. */
export type EnrichmentChange =
  /** Ask for it; what was asked for already stays in the queue, and the earlier time counts. */
  | { readonly detail: DetailLevel; readonly priority: EnrichmentPriority; readonly at: Millis }
  /** It was asked: nothing more is to be asked, or only this. */
  | { readonly asked: true; readonly again?: NextEnrichment | undefined }

export interface NextEnrichment {
  readonly detail: DetailLevel
  readonly at: Millis
  /** Undefined: with the priority it was taken with. */
  readonly priority?: EnrichmentPriority | undefined
}

export interface EnrichmentItem {
  readonly key: RunKey
  readonly detail: DetailLevel
  /** When it was taken, on the clock of the store's times. */
  readonly takenAt: Millis
}

/** The job that started a pipeline, as the jobs of its own pipeline report it. */
export interface Trigger {
  readonly pipelineId: number
  readonly projectId: number
  readonly jobId: number
}

export interface EnrichmentQueue {
  /** Leases those that have been due the longest, in no order: for `leaseMs` nobody else gets them. */
  take(priority: EnrichmentPriority, limit: number, leaseMs: number): Promise<readonly EnrichmentItem[]>
  /** Their leases end so long from now; 0: they are due at once. */
  extend(keys: readonly RunKey[], leaseMs: number): Promise<void>
  /** Puts one that was taken back, unasked: it is due again in so long. */
  defer(key: RunKey, ms: number): Promise<void>
  /** How many runs are due now or taken, and how many wait for a later time. */
  count(priority: EnrichmentPriority): Promise<{ readonly due: number; readonly later: number }>
  /**
   * For `ms` nobody could be asked: what delays exports of finished runs is moved on by as much, but not beyond `limitMs`
   * after a run's end.
   */
  postpone(ms: number, limitMs: number): Promise<void>
  triggerOf(key: RunKey): Promise<Trigger | undefined>
  /**
   * Runs that may have triggered this one: older by id, without a snapshot and not known to have ended, the nearest first. In one
   * project, or in all.
   */
  candidates(key: RunKey, projectId: number | undefined, limit: number): Promise<readonly CandidateRun[]>
}

export interface CandidateRun {
  readonly key: RunKey
  readonly projectId: number
}
