// The port's part for the API budget, which all requests of one token share.
import type { Priority } from '../port.ts'

/** The budget of one token, wherever its state is stored. */
export interface Budget {
  /** Resolves when a request may be sent; it is then counted. Rejects with the signal's reason when that is aborted. */
  take(priority: Priority, signal?: AbortSignal): Promise<void>
  /** Called with the rate limit from an answer's headers. */
  observed(facts: BudgetFacts): Promise<void>
  snapshot(): Promise<BudgetSnapshot>
  /** Whether a request of this priority would have to wait now. */
  isShort(priority: Priority): Promise<boolean>
}

/** The rate limit from the headers of an answer, as durations in ms, because the platform's clock may differ. */
export interface BudgetFacts {
  readonly remaining?: number | undefined
  readonly resetIn?: number | undefined
  /** How long no request may be sent. */
  readonly pause?: number | undefined
}

export interface BudgetSnapshot {
  readonly perMinute: number
  /** Requests available now. */
  readonly available: number
  /** How long the platform's pause still lasts, ms; 0 when there is none. */
  readonly pausedFor: number
  /** What the platform says is left of its own limit. */
  readonly remaining?: number | undefined
}
