// The waterfalls of two runs on one time axis, shifted so that both begin at 0. Pure.
import { waterfallOf, type Waterfall } from '../waterfall/waterfall-rows.ts'
import type { Millis } from '../../model/instant.ts'
import type { RunCard } from './run-card.ts'
import type { WaterfallRow } from '../waterfall/waterfall-row.ts'

export function sharedWaterfall(here: RunCard, there: RunCard, now: Millis): Omit<Waterfall, 'path'> {
  const own = waterfallOf({ card: here, children: [], left: 0 }, here.pipelineId, now)
  const other = waterfallOf({ card: there, children: [], left: 0 }, there.pipelineId, now)
  const shift = own.from - other.from
  const moved = other.rows.map(row => ({
    ...row,
    ...{ queued: later(row.queued, shift), start: later(row.start, shift), end: later(row.end, shift) },
  }))
  return {
    rows: [...named(own.rows), ...named(moved)],
    ...{ from: own.from, to: Math.max(own.to, other.to + shift) },
    left: { jobs: own.left.jobs + other.left.jobs, ofJobs: own.left.ofJobs + other.left.ofJobs, pipelines: 0 },
  }
}

/** Labels the pipelines by their numbers, as both have the same name. */
function named(rows: readonly WaterfallRow[]): WaterfallRow[] {
  return rows.map(row => (row.kind === 'pipeline' ? { ...row, label: `#${row.pipelineId}`, note: row.label } : row))
}

function later(at: Millis | undefined, shift: number): Millis | undefined {
  return at === undefined ? undefined : at + shift
}
