// The enrichment queue: which runs are to be requested from the platform's API, when, and at which level of detail. Also the job that
// started a pipeline.
import type { Millis } from '../../../model/instant.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { Territory } from '../../../model/territory.ts'

/**
 * `fresh`: runs that webhooks reported, that are active or have just ended. `silent`: active runs without new observations. `backfill`: runs that ended long
 * before a backfill or the poller found them. No class waits for another, and each leaves the API budget to those before it.
 */
export type EnrichmentPriority = 'fresh' | 'silent' | 'backfill'

/**
 * What is requested, the least first. `pipeline`: the pipeline itself, if only jobs are known. `family`: where a child comes from. `state`: the
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
  /** Undefined: its priority stays. */
  readonly priority?: EnrichmentPriority | undefined
}

export interface EnrichmentItem {
  readonly key: RunKey
  /** The full path of its project, if it is known. */
  readonly path?: string | undefined
  readonly detail: DetailLevel
  /** When it was leased, on the store's clock. */
  readonly takenAt: Millis
}

/** The job that started a pipeline, as that job's own pipeline reports it. */
export interface Trigger {
  readonly pipelineId: number
  readonly projectId: number
  readonly jobId: number
}

/** Which items of a queue may be leased, by the territories of their runs. */
export type Which = { readonly only: readonly Territory[] } | { readonly except: readonly Territory[] }

export interface EnrichmentQueue {
  /** Leases the items that have been due the longest, in any order. */
  take(priority: EnrichmentPriority, limit: number, leaseMs: number, which?: Which): Promise<readonly EnrichmentItem[]>
  /** Extends the leases, from now on; 0: they are due at once. */
  extend(keys: readonly RunKey[], leaseMs: number): Promise<void>
  /** Returns an item that was leased without a request: it is due again in `ms`. */
  defer(key: RunKey, ms: number): Promise<void>
  /** How many runs are due now or leased, and how many are due later. */
  count(priority: EnrichmentPriority): Promise<{ readonly due: number; readonly later: number }>
  /**
   * The API was unavailable for `ms`: moves the deadlines of finished runs by as much, but not beyond `limitMs` after a run's end. `only`: of runs
   * there.
   */
  postpone(priority: EnrichmentPriority, ms: number, limitMs: number, only?: Territory): Promise<void>
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
