// The enrichment queue: which runs are to be asked about at the platform's API, when, and at which level of detail. Also the job that
// started a pipeline.
import type { Millis } from '../../model/instant.ts'
import type { RunKey } from '../../model/observation.ts'

/**
 * `fresh`: what webhooks reported, and what runs or has just ended. `silent`: runs under way without new observations. `backfill`: what ended long
 * before a backfill or the poller found it. No class waits for another, and each leaves the API budget to those before it.
 */
export type EnrichmentPriority = 'fresh' | 'silent' | 'backfill'

/**
 * What is asked, the least first. `pipeline`: the pipeline itself, if only jobs are known. `family`: where a child comes from. `state`: the
 * pipeline's current state. `details`: its jobs and bridges, and the state too unless its end is known.
 */
export const detailLevels = ['pipeline', 'family', 'state', 'details'] as const
export type DetailLevel = (typeof detailLevels)[number]

/** What a decision on a run changes in the queue. */
export type EnrichmentChange =
  /** Adds an item. If the run has one already, the higher level of detail and the earlier time count. */
  | { readonly detail: DetailLevel; readonly priority: EnrichmentPriority; readonly at: Millis }
  /** The platform was asked: removes the item, or replaces it with this one. */
  | { readonly asked: true; readonly again?: NextEnrichment | undefined }

export interface NextEnrichment {
  readonly detail: DetailLevel
  readonly at: Millis
  /** Undefined: the priority that it had. */
  readonly priority?: EnrichmentPriority | undefined
}

export interface EnrichmentItem {
  readonly key: RunKey
  readonly detail: DetailLevel
  /** When it was taken, on the clock of the store's times. */
  readonly takenAt: Millis
}

/** The job that started a pipeline, as that job's own pipeline reports it. */
export interface Trigger {
  readonly pipelineId: number
  readonly projectId: number
  readonly jobId: number
}

export interface EnrichmentQueue {
  /** Leases the items that have been due the longest, in no order. */
  take(priority: EnrichmentPriority, limit: number, leaseMs: number): Promise<readonly EnrichmentItem[]>
  /** Extends the leases, from now on; 0: they are due at once. */
  extend(keys: readonly RunKey[], leaseMs: number): Promise<void>
  /** Returns an item that was taken without being asked: it is due again in `ms`. */
  defer(key: RunKey, ms: number): Promise<void>
  /** How many runs are due now or taken, and how many wait for a later time. */
  count(priority: EnrichmentPriority): Promise<{ readonly due: number; readonly later: number }>
  /** The API could not be asked for `ms`: moves the deadlines of finished runs by as much, but not beyond `limitMs` after a run's end. */
  postpone(priority: EnrichmentPriority, ms: number, limitMs: number): Promise<void>
  triggerOf(key: RunKey): Promise<Trigger | undefined>
  /**
   * Runs that may have triggered this one: with a lower id, without a snapshot and not known to have ended; the nearest id first. In
   * one project, or in all.
   */
  candidates(key: RunKey, projectId: number | undefined, limit: number): Promise<readonly CandidateRun[]>
}

export interface CandidateRun {
  readonly key: RunKey
  readonly projectId: number
}
