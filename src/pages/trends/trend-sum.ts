// Adds up the figures of several rows: sums of counts, percentiles from merged bins. Pure.
import { z } from 'zod'
import { ms, type Shaped } from '../layout/shape.ts'
import { percentileOf, plusBins } from '../../lib/log-bins.ts'
import type { TrendFigures } from '../../store/ports/trends.ts'

export const figuresShape = z.object({
  runs: z.number(),
  failed: z.number(),
  p50: ms.optional(),
  p95: ms.optional(),
  queueP50: ms.optional(),
})
/** Durations are undefined if nothing was counted. */
export type Figures = Shaped<typeof figuresShape>

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
