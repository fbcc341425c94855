// Part of the port: declares the API budget, which all requests with the same token share.
import type { Priority } from '../port.ts'

/** The API budget of one token. Its state is kept in memory or in the store. */
export interface Budget {
  /** Waits until a request may be sent, and counts it. Rejects with the signal's reason if the signal is aborted. */
  take(priority: Priority, signal?: AbortSignal): Promise<void>
  /** Records the rate limit from the headers of a response. */
  observed(facts: BudgetFacts): Promise<void>
  snapshot(): Promise<BudgetSnapshot>
  /** Whether a request of this priority would have to wait now. */
  isShort(priority: Priority): Promise<boolean>
}

/** The rate limit from the headers of a response. Times are durations in ms, because the platform's clock may differ from ours. */
export interface BudgetFacts {
  readonly remaining?: number | undefined
  readonly resetIn?: number | undefined
  /** The remaining time for which the platform asks clients to send no requests, ms. */
  readonly pause?: number | undefined
}

export interface BudgetSnapshot {
  readonly perMinute: number
  /** Number of requests that may be sent immediately. */
  readonly available: number
  /** Remaining time of the pause that the platform requested, ms; 0 if there is none. */
  readonly pausedFor: number
  /** The remaining number of requests that the platform itself reports. */
  readonly remaining?: number | undefined
}
