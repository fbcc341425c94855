// Running totals of every project's metrics, and the active runs. What changes runs or counts things adds to them; what was added is folded into them later,
// at the latest before they are read.
import type { ActiveJob, ActiveRuns, ProjectTotals } from '../../../model/totals.ts'
import type { Millis } from '../../../model/instant.ts'

/** Counters of increments whose ref or name was replaced by a common value, and of those that went to an overflow series. */
export const foldedCounters = {
  refs: 'metrics.folded.refs',
  names: 'metrics.folded.names',
  series: 'metrics.folded.series',
} as const

export interface TotalsPage {
  /** When they were read, on the store's clock. */
  readonly now: Millis
  readonly projects: readonly ProjectTotals[]
  /** The start of the next page; undefined on the last one. */
  readonly next?: number | undefined
}

export interface Totals {
  /** Folds what was added. */
  fold(): Promise<void>
  /** The totals of at most `limit` projects, from the first one, after a fold, or from `next` of the previous page. */
  read(limit: number, from?: number): Promise<TotalsPage>
  /** The names of all metrics that have totals, after a fold. */
  metrics(): Promise<readonly string[]>
  /** The totals of one metric: those of whole projects, about `limit` series, from the first project or from `next` of the previous page. */
  ofMetric(metric: string, limit: number, from?: number): Promise<TotalsPage>
  /** Runs without a snapshot of their open attempt, by project, name and status. */
  active(): Promise<readonly ActiveRuns[]>
  /** Calls `take` with the jobs of these runs that wait for a runner or occupy one, a page at a time. */
  activeJobs(take: (page: readonly ActiveJob[]) => void): Promise<void>
}
