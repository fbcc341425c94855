// What is judged: runs of one job, or of a project's pipelines, on one class of branch. Single runs where they are stored, and figures of
// days for what was before. Pure.
import type { Bins } from '../lib/log-bins.ts'
import type { Millis } from '../model/instant.ts'

export interface Outcome {
  /** When it ended. */
  readonly at: Millis
  /** Of its pipeline: distinguishes runs that ended at once. */
  readonly id: number
  /** ms. */
  readonly tookMs: number
  readonly failed: boolean
  /** Runs of one merge request or branch are tries of one change; undefined on the default branch, where each is a change of its own. */
  readonly change?: string | undefined
}

export interface DayOfRuns {
  /** Its start, UTC. */
  readonly day: Millis
  readonly runs: number
  readonly failed: number
  readonly durations: Bins
}

export interface Series {
  /** Of all runs, also of those that are stored; in any order. */
  readonly days: readonly DayOfRuns[]
  /** In any order. */
  readonly runs: readonly Outcome[]
}

export const regressionKinds = ['slower', 'failing'] as const
export type RegressionKind = (typeof regressionKinds)[number]

/** What became worse, from when on, and until when. */
export interface Episode {
  readonly kind: RegressionKind
  /** Median, ms; or the share of runs that failed. */
  readonly before: number
  readonly after: number
  /** A run beyond this is counted as slow, ms; 0 where failures are counted. */
  readonly limit: number
  /** Runs that `before` and `after` were taken of. */
  readonly runs: { readonly before: number; readonly after: number }
  readonly first: Outcome
  /** The run with which it was certain. */
  readonly flagged: Outcome
  /** With which it was over: `recovered`, or it has lasted for so long that it is the new usual (`settled`). */
  readonly resolved?: { readonly by: Outcome; readonly how: 'recovered' | 'settled' } | undefined
}
