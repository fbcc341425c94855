// A throttle for warnings that many requests may cause: it logs one line per reason and minute, with a count of those left out.
import type { Log } from './log.ts'

const minute = 60_000

/** Logs the first warning of a reason at once; the next one, a minute later at the earliest, has the count of those in between. */
export type SparseWarnings = (reason: string, message: string, facts?: object) => void

/** `now`: milliseconds. A clock that is set back suppresses no warning. Reasons must be from a fixed set, because each is remembered. */
export function sparseWarnings(log: Log, now: () => number): SparseWarnings {
  const reasons = new Map<string, { nextAt: number; leftOut: number }>()
  return (reason, message, facts) => {
    const known = reasons.get(reason)
    const at = now()
    if (known !== undefined && at < known.nextAt && at >= known.nextAt - minute) {
      known.leftOut += 1
      return
    }
    reasons.set(reason, { nextAt: at + minute, leftOut: 0 })
    log.warn({ ...facts, reason, leftOut: known?.leftOut ?? 0 }, message)
  }
}
