// Computes how long an active run may be silent before it is fetched from the platform: the time within which 95 % of its project's pipelines end. A
// run that is silent for longer has probably ended, and the webhook that reported its end was lost.
import { runsOn } from '../../model/attempt.ts'
import { isBlocked } from '../../model/status.ts'
import { percentileOf } from '../../lib/log-bins.ts'
import type { Millis } from '../../model/instant.ts'
import type { PastDurations } from '../store/ports/reporter.ts'
import type { StoredRun } from '../store/ports/runs.ts'

export interface SilenceOptions {
  readonly pastDurations: PastDurations
  /** The minimum silence before a run is fetched, in ms. It is long enough for a late webhook to arrive. */
  readonly silentAfter?: number | undefined
  /** The maximum silence of manual and scheduled pipelines, in ms. Such pipelines are often silent for a long time. */
  readonly staleAfter: number
}

export interface Silence {
  /**
   * Returns how much longer the run may be silent, in ms. If the result is 0 or less, the run is due to be fetched. `at` is the current time on the
   * clock of the run's timestamps.
   */
  left(known: StoredRun, at: Millis): Promise<number>
}

const minute = 60_000
/** The default for `silentAfter`, ms. */
export const minSilence = 2 * minute
/**
 * The maximum silence of a run in ms, however long the project's pipelines take. If the webhook that reports a run's end is lost, the end is found
 * within this time.
 */
const maxSilence = 6 * 60 * minute
/** The factor by which the minimum silence is multiplied for a project without exported pipelines. */
const unknownFactor = 5
const share = 0.95
/** The number of past days whose pipeline durations are used. */
const days = 14

export function createSilence({ pastDurations, silentAfter = minSilence, staleAfter }: SilenceOptions): Silence {
  async function usualOf(instance: string, projectId: number): Promise<number> {
    const took = percentileOf(await pastDurations.of({ instance, projectId }, days), share)
    return Math.max(silentAfter, Math.min(maxSilence, Math.ceil(took ?? unknownFactor * silentAfter)))
  }

  return {
    left: async ({ run, timing }, at) => {
      const { key, project, pipeline } = run
      if (pipeline === undefined) return 0
      // If somebody has played a manual job, the pipeline runs on, even if only a job event reported that.
      const isWaiting = isBlocked(pipeline.record.facts.status) && !runsOn(run)
      const usual = isWaiting ? staleAfter : await usualOf(key.instance, project.facts.id)
      return Math.min(timing.changedAt, at) + Math.min(usual, staleAfter) - at
    },
  }
}
