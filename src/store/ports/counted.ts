// Things that are reported many times and counted once: the times of changes, incidents.
import type { ProjectIncrements } from '../../model/totals.ts'
import type { ReceivedEvent } from './events.ts'

/** What is written when something is counted. */
export interface Counted {
  readonly totals?: ProjectIncrements | undefined
  /** For destinations with delta metrics: one point for each thing. */
  readonly sent?: ReceivedEvent | undefined
}

export interface Countable<Of, Figures> {
  /** Leases those of which something is due to be counted. */
  take(limit: number, leaseMs: number): Promise<readonly { readonly id: number }[]>
  /** Extends the leases, from now on; 0: they are due at once. */
  extend(ids: readonly number[], leaseMs: number): Promise<void>
  /**
   * Counts what is due, in one transaction with what `decide` returns. What remains to be counted is due at once. Undefined: nothing was counted, as
   * another replica did it.
   */
  count(id: number, decide: (of: Of, figures: Figures) => Counted): Promise<Figures | undefined>
}
