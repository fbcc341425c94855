// Sorts pipelines by how long they took, or by how many times their usual duration that is. Neither is stored by pipeline, so the newest that match are read and
// sorted.
import type { ListedRun } from './usual.ts'

export const runSorts = ['duration', 'usual'] as const
export type RunSort = (typeof runSorts)[number]

/** How many pipelines are read to be sorted. */
export const maxSorted = 300

/** Undefined for any other text. */
export function runSortOf(text: string | undefined): RunSort | undefined {
  return runSorts.find(one => one === text)
}

/** The longest first, or those that took most times their usual duration. Pipelines without the figure are left out. */
export function longest(runs: readonly ListedRun[], by: RunSort): ListedRun[] {
  return runs
    .flatMap(run => {
      const value = figureOf(run, by)
      return value === undefined ? [] : [{ run, value }]
    })
    .sort((a, b) => b.value - a.value)
    .map(({ run }) => run)
}

function figureOf({ spentMs, usual }: ListedRun, by: RunSort): number | undefined {
  if (spentMs === undefined || by === 'duration') return spentMs
  return usual?.p50 === undefined || usual.p50 === 0 ? undefined : spentMs / usual.p50
}
