// Computes exponential backoff: how long to wait before the next attempt.

export interface BackoffOptions {
  /** The first pause in ms. */
  readonly first: number
  /** The maximum pause in ms. */
  readonly max: number
}

/**
 * Returns the pause before the next attempt, exponential with equal jitter: between half and all of `first · 2^(tries-1)`, at most `max`. `tries`
 * counts from 1.
 */
export function backoff(tries: number, { first, max }: BackoffOptions): number {
  const full = Math.min(max, first * 2 ** Math.min(30, Math.max(0, tries - 1)))
  return Math.round(full / 2 + (full / 2) * Math.random())
}
