// Running totals of every project's metrics, and the runs under way. Totals are moved where runs are changed (`runs.ts`).
import type { ActiveRuns, ProjectTotals } from '../../model/totals.ts'
import type { Millis } from '../../model/instant.ts'

/** Counters of what was folded: increments whose ref was, and increments that went to an overflow series. */
export const foldedCounters = { refs: 'metrics.folded.refs', series: 'metrics.folded.series' } as const

export interface TotalsPage {
  /** When they were read, on the database's clock. */
  readonly now: Millis
  readonly projects: readonly ProjectTotals[]
  /** Where the next page begins; undefined on the last one. */
  readonly next?: number | undefined
}

export interface Totals {
  /** The totals of at most `limit` projects, from the first one or from where the page before ended. */
  read(limit: number, from?: number): Promise<TotalsPage>
  /** Runs that have begun and wait for their snapshot, by project, name and status. */
  active(): Promise<readonly ActiveRuns[]>
}
