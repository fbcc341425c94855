// How long an active run may be silent before it is looked up: as long as 95 % of its project's pipelines take. A run that is silent
// for longer has probably ended, and its webhook was lost.
import { isBlocked } from '../../model/status.ts'
import { percentileOf } from '../../lib/log-bins.ts'
import type { Millis } from '../../model/instant.ts'
import type { PastDurations } from '../store/ports/reporter.ts'
import type { StoredRun } from '../store/ports/runs.ts'

export interface SilenceOptions {
  readonly pastDurations: PastDurations
  /** The minimum time, which a late webhook does not exceed, ms. */
  readonly silentAfter?: number | undefined
  /** The time for manual and scheduled pipelines, which are silent by nature, ms. */
  readonly staleAfter: number
}

export interface Silence {
  /** How much longer the run may be silent, ms; 0 or less: look it up. `at`: now, by the clock of the run's times. */
  left(known: StoredRun, at: Millis): Promise<number>
}

const minute = 60_000
/** The default of `silentAfter`, ms. */
export const minSilence = 2 * minute
/** A lost end is found within this time, however long the project's pipelines take. */
const maxSilence = 6 * 60 * minute
/** Multiple of the least time for a project without exported pipelines. */
const unknownTimes = 5
const share = 0.95
/** The durations of this many days are used. */
const days = 14

export function createSilence({ pastDurations, silentAfter = minSilence, staleAfter }: SilenceOptions): Silence {
  async function usualOf(instance: string, projectId: number): Promise<number> {
    const took = percentileOf(await pastDurations.of({ instance, projectId }, days), share)
    return Math.max(silentAfter, Math.min(maxSilence, Math.ceil(took ?? unknownTimes * silentAfter)))
  }

  return {
    left: async ({ run, timing }, at) => {
      const { key, project, pipeline } = run
      if (pipeline === undefined) return 0
      const isWaiting = isBlocked(pipeline.record.facts.status)
      const usual = isWaiting ? staleAfter : await usualOf(key.instance, project.facts.id)
      return Math.min(timing.changedAt, at) + Math.min(usual, staleAfter) - at
    },
  }
}
