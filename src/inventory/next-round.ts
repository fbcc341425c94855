// When a thing is asked about again. Pure: durations in ms.
import type { PlatformError } from '../platform/rest/platform-error.ts'

const minute = 60_000
const day = 24 * 60 * minute
/** After the first failure that may pass by itself. */
const firstPause = 5 * minute
/** The longest pause of what may pass by itself. */
const longestPause = 60 * minute

/** `failures`: rounds without an answer, this one included. */
export function pauseAfter(error: PlatformError, failures: number, every: number, isBlockable: boolean): number {
  if (isLasting(error)) return Math.max(day, every)
  const doubled = 2 ** Math.min(20, failures - 1)
  if (isBlockable) return Math.min(Math.max(every, firstPause) * doubled * 2, day)
  return Math.min(Math.min(every, firstPause) * doubled, Math.max(every, longestPause))
}

/** What a role, a tier or a setting would have to change. */
export function isLasting({ kind }: PlatformError): boolean {
  return kind === 'forbidden' || kind === 'not-found' || kind === 'refused' || kind === 'unexpected-answer'
}

/** A gauge is good for three rounds, so that one that fails leaves no gap. */
export function goodFor(every: number): number {
  return 3 * every + 10 * minute
}
