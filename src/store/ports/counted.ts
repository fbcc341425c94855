// What is counted of things that are reported many times and counted once: the times of changes, incidents.
import type { ProjectIncrements } from '../../model/totals.ts'
import type { ReceivedEvent } from './events.ts'

/** What is written when something is counted. */
export interface Counted {
  readonly totals?: ProjectIncrements | undefined
  /** For destinations that take the points of each by themselves. */
  readonly sent?: ReceivedEvent | undefined
}

export interface Countable<Of, Figures> {
  /** Takes some of which something is due to be counted, and hides them from others for `leaseMs`. */
  take(limit: number, leaseMs: number): Promise<readonly { readonly id: number }[]>
  /** Leases them for so long from now; 0: they are due at once. */
  extend(ids: readonly number[], leaseMs: number): Promise<void>
  /**
   * Counts what is due, in one transaction with what `decide` answers. What remains to be counted after that is due at once. Undefined: nothing was
   * counted, as another replica did it.
   */
  count(id: number, decide: (of: Of, figures: Figures) => Counted): Promise<Figures | undefined>
}
