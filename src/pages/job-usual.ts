// How long a job usually takes: its figures of the last thirty days, and what they say of one run of it.
import { duration, number } from './format.ts'
import { day } from './trend-figures.ts'
import { percentileOf, plusBins, type Bins } from '../lib/log-bins.ts'
import type { JobCard, RunCard } from './run-card.ts'
import type { Millis } from '../model/instant.ts'
import type { PagesSources } from './ports.ts'

/** Durations in ms; undefined where nothing was counted. */
export interface Usual {
  readonly days: number
  readonly runs: number
  readonly failed: number
  readonly p50?: number | undefined
  readonly p95?: number | undefined
  readonly queueP50?: number | undefined
  readonly queueP95?: number | undefined
}

const days = 30
/** Of fewer runs nobody can tell what is usual. */
const leastRuns = 20
/** By less than this a duration differs for no reason: figures are right within 5 %. */
const slack = 1.1

export async function usualOf(
  { views }: Pick<PagesSources, 'views'>,
  { instance, projectId }: Pick<RunCard, 'instance' | 'projectId'>,
  job: JobCard,
  now: Millis,
): Promise<Usual> {
  const subject = { instance, projectId, job: job.name.slice(0, 255) }
  const rows = await views.trends.series(subject, { step: day, since: now - days * day, until: now + day })
  const durations = rows.reduce<Bins>((sum, row) => plusBins(sum, row.durations), {})
  const queues = rows.reduce<Bins>((sum, row) => plusBins(sum, row.queues), {})
  return {
    days,
    runs: rows.reduce((sum, row) => sum + row.runs, 0),
    failed: rows.reduce((sum, row) => sum + row.failed, 0),
    p50: percentileOf(durations, 0.5),
    p95: percentileOf(durations, 0.95),
    queueP50: percentileOf(queues, 0.5),
    queueP95: percentileOf(queues, 0.95),
  }
}

/** A plain sentence or two. `tookMs`: of this run, as far as it has come; undefined for one that never began. */
export function againstUsual({ runs, p50, p95 }: Usual, tookMs: number | undefined, isOver: boolean): string {
  if (runs === 0 || p50 === undefined || p95 === undefined) {
    return `How long this job usually takes is not known: none of its runs of the last ${days} days is counted yet.`
  }
  const figures = `of ${number(runs)} ${runs === 1 ? 'run' : 'runs'} in the last ${days} days half took ${duration(p50)} or less`
  const ends = `, and 95 of 100 took ${duration(p95)} or less.`
  if (tookMs === undefined) return `It did not run. ${capital(figures)}${ends}`
  const took = isOver ? `took ${duration(tookMs)}` : `has run for ${duration(tookMs)} so far`
  if (runs < leastRuns) return `It ${took}. That is too few runs to say what is usual: ${figures}.`
  return `${verdict(tookMs, p50, p95, isOver)} It ${took}; ${figures}${ends}`
}

function verdict(tookMs: number, p50: number, p95: number, isOver: boolean): string {
  if (tookMs > p95 * slack) return `This is unusually long: ${(tookMs / p50).toFixed(1)} times the median.`
  if (!isOver) return 'This is nothing unusual yet.'
  if (tookMs > p50 * slack) return 'This is longer than the median, and not unusual.'
  return tookMs * 2 < p50 ? 'This is unusually short.' : 'This is as long as usual.'
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
