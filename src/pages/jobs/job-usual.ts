// Compares a job's duration with its usual one, in sentences.
import { days, leastRuns, slack, whereUsual, type Usual } from '../pipelines/usual.ts'
import { duration, number } from '../layout/format.ts'

/** One or two sentences. `tookMs`: of this run, so far; undefined if it never started. */
export function againstUsual(usual: Usual | undefined, tookMs: number | undefined, isOver: boolean): string {
  const { runs = 0, p50, p95 } = usual ?? {}
  if (usual === undefined || p50 === undefined || p95 === undefined) {
    return `The usual duration is not known yet: no run in the last ${days} days has been counted.`
  }
  const its = `${number(runs)} ${runs === 1 ? 'run' : 'runs'} ${whereUsual(usual)} in the last ${days} days`
  const figures = `median ${duration(p50)}, p95 ${duration(p95)} (${its})`
  if (tookMs === undefined) return `This job did not run. Usual duration: ${figures}.`
  const took = isOver ? `took ${duration(tookMs)}` : `has run for ${duration(tookMs)} so far`
  if (runs < leastRuns) return `It ${took}. Too few runs to tell what is usual: ${figures}.`
  return `${verdict(tookMs, p50, p95, isOver)} It ${took}; ${figures}.`
}

function verdict(tookMs: number, p50: number, p95: number, isOver: boolean): string {
  if (tookMs > p95 * slack) return `This is unusually long: ${(tookMs / p50).toFixed(1)} times the median.`
  if (!isOver) return 'Nothing unusual so far.'
  if (tookMs > p50 * slack) return 'This is longer than the median, but not unusual.'
  return tookMs * 2 < p50 ? 'This is unusually short.' : 'This is about as long as usual.'
}
