// Computes the pause until a thing is read again. Pure. All durations are in ms.
import type { PlatformError } from '../platform/port.ts'

const minute = 60_000
const day = 24 * 60 * minute
/** Pause after the first failure that may be temporary. */
const firstPause = 5 * minute
/** Maximum pause after failures that may be temporary. */
const maxPause = 60 * minute

/** `failures`: number of failed rounds in a row, including this one. */
export function pauseAfter(error: PlatformError, failures: number, every: number, isBlockable: boolean): number {
  if (isLasting(error)) return Math.max(day, every)
  const doubled = 2 ** Math.min(20, failures - 1)
  if (isBlockable) return Math.min(Math.max(every, firstPause) * doubled * 2, day)
  return Math.min(Math.min(every, firstPause) * doubled, Math.max(every, maxPause))
}

/** True for errors that last until a role, a tier or a setting is changed. */
export function isLasting({ kind }: PlatformError): boolean {
  return kind === 'forbidden' || kind === 'not-found' || kind === 'refused' || kind === 'unexpected-answer'
}

/** A reading is valid for three rounds, so that a failed round leaves no gap. */
export function goodFor(every: number): number {
  return 3 * every + 10 * minute
}
