// What is counted of a change: how long it took from its creation on until it was approved, was merged, had its first pipeline. Pure.
import type { Change } from './change.ts'
import type { Millis } from './instant.ts'

export const changeMeasures = ['pipeline', 'approval', 'merge'] as const
export type ChangeMeasure = (typeof changeMeasures)[number]

/** What was counted, each once. */
export type CountedTimes = Readonly<Partial<Record<ChangeMeasure, ChangeTime>>>

export interface ChangeTime {
  /** When it was approved, was merged, had its first pipeline. */
  readonly at: Millis
  /** How long that took from the creation of the change on, ms. */
  readonly took: Millis
}

/** One of the times of a change, with what its points are distinguished by. */
export interface ChangeFigures extends ChangeTime {
  readonly measure: ChangeMeasure
  /** The branches, as the platform names them. */
  readonly head?: string | undefined
  readonly base?: string | undefined
}

/**
 * The times that are known and were not counted, the earliest first. The first approval and the first pipeline are those of a change
 * whose opening was reported: of another, one may have been before.
 */
export function uncounted(change: Change, counted: CountedTimes): readonly (ChangeTime & { measure: ChangeMeasure })[] {
  const { createdAt, isWhole, approvedAt, mergedAt, pipeline } = change
  if (createdAt === undefined) return []
  const ends = { pipeline: isWhole && pipeline?.createdAt, approval: isWhole && approvedAt, merge: mergedAt }
  return changeMeasures
    .flatMap(measure => {
      const at = ends[measure]
      return at === undefined || counted[measure] !== undefined
        ? []
        : [{ measure, at, took: Math.max(0, at - createdAt) }]
    })
    .sort((a, b) => a.at - b.at)
}
