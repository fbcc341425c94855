// The metrics of a change: the time from its creation to its first pipeline, its first approval and its merge, and its time in the merge train. Pure.
import type { Change } from './change.ts'
import type { Millis } from '../../../model/instant.ts'

export const changeMeasures = ['pipeline', 'approval', 'merge', 'train'] as const
export type ChangeMeasure = (typeof changeMeasures)[number]

/** The times that were counted already; each counts once. */
export type CountedTimes = Readonly<Partial<Record<ChangeMeasure, ChangeTime>>>

export interface ChangeTime {
  /** When it was approved, was merged, or had its first pipeline. In a merge train: when it was merged. */
  readonly at: Millis
  /** How long that took since the creation of the change, ms; in a merge train: since that of its first pipeline there. */
  readonly took: Millis
}

/** One of the times of a change, with the attributes of its metric point. */
export interface ChangeFigures extends ChangeTime {
  readonly measure: ChangeMeasure
  /** The branches, as the platform names them. */
  readonly head?: string | undefined
  readonly base?: string | undefined
}

/**
 * The times that are known and not yet counted, the earliest first. Approval, pipeline and merge train count only for a change whose opening was
 * reported: for any other, an earlier one may have been missed.
 */
export function uncounted(change: Change, counted: CountedTimes): readonly (ChangeTime & { measure: ChangeMeasure })[] {
  const { createdAt, isWhole, approvedAt, mergedAt, pipeline, trainAt } = change
  if (createdAt === undefined) return []
  const spans: Record<ChangeMeasure, readonly [from: Millis | undefined, to: Millis | undefined]> = {
    pipeline: [createdAt, isWhole && pipeline?.createdAt],
    approval: [createdAt, isWhole && approvedAt],
    merge: [createdAt, mergedAt],
    train: [isWhole && trainAt, mergedAt],
  }
  return changeMeasures
    .flatMap(measure => {
      const [from, at] = spans[measure]
      return from === undefined || at === undefined || counted[measure] !== undefined
        ? []
        : [{ measure, at, took: Math.max(0, at - from) }]
    })
    .sort((a, b) => a.at - b.at)
}
