// Adds up the figures of several rows: sums of counts, percentiles from merged bins. Pure.
import { percentileOf, plusBins } from '../../lib/log-bins.ts'
import type { TrendFigures } from '../../store/ports/trends.ts'

/** Durations in ms; undefined if nothing was counted. */
export interface Figures {
  readonly runs: number
  readonly failed: number
  readonly p50?: number | undefined
  readonly p95?: number | undefined
  readonly queueP50?: number | undefined
}

export function figuresOf(rows: readonly TrendFigures[]): Figures {
  const sum = (of: (row: TrendFigures) => number): number => rows.reduce((total, row) => total + of(row), 0)
  const durations = rows.map(row => row.durations).reduce(plusBins, {})
  const queues = rows.map(row => row.queues).reduce(plusBins, {})
  return {
    runs: sum(row => row.runs),
    failed: sum(row => row.failed),
    p50: percentileOf(durations, 0.5),
    p95: percentileOf(durations, 0.95),
    queueP50: percentileOf(queues, 0.5),
  }
}
