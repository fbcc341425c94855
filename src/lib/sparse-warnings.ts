// A throttle for warnings that many requests may cause. It logs one line per reason and minute, with the number of suppressed warnings.
import type { Log } from './log.ts'

const minute = 60_000

/**
 * Logs a warning. The first warning for a reason is logged immediately. The next one is logged a minute later at the earliest, with the number of
 * suppressed warnings in between.
 */
export type SparseWarnings = (reason: string, message: string, facts?: object) => void

/**
 * Creates the throttle. `now` returns a time in ms. If its clock is set back, no warnings are suppressed. Reasons must come from a fixed set, because
 * each one stays in memory.
 */
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
