// The series that is judged: the runs of one job, of one of its sections, or of a project's pipelines, on one class of branch. Recent runs are judged
// one by one, older runs as daily figures. This file also defines when a change justifies an alarm: the operator sets `Rule`, and the constants are
// part of the method. docs/regressions.md explains each constant, with the figures that decided it. Pure.
import type { Bins } from '../../lib/log-bins.ts'
import type { BranchClass } from '../../model/pipeline.ts'
import type { Millis } from '../../model/instant.ts'

export interface Outcome {
  /** When the run ended. */
  readonly at: Millis
  /** The id of the run, which distinguishes runs that ended at the same time: the job's id, or a number made of the pipeline's id and attempt. */
  readonly id: number
  readonly tookMs: number
  readonly failed: boolean
  /** The merge request or branch of the run. Undefined on the default branch, where each run is a separate change. */
  readonly change?: string | undefined
}

export interface DayOfRuns {
  /** The start of the day (UTC). */
  readonly day: Millis
  readonly runs: number
  readonly failed: number
  readonly durations: Bins
}

export interface Series {
  /** The daily figures of all runs, including those in `runs`, in any order. */
  readonly days: readonly DayOfRuns[]
  /** The recent runs, in any order. */
  readonly runs: readonly Outcome[]
}

export const regressionKinds = ['slower', 'failing'] as const
export type RegressionKind = (typeof regressionKinds)[number]

export interface Subject {
  readonly branch: BranchClass
  /** The name of the job; empty for the project's pipelines. */
  readonly job: string
  /** The name of the section; empty for the job itself. */
  readonly section: string
  readonly kind: RegressionKind
}

/** One regression over time, from its first bad run to its end. */
export interface Episode {
  readonly kind: RegressionKind
  /** The median before the change, ms; for `failing`, the share of failed runs. */
  readonly before: number
  readonly after: number
  /** The duration above which a run is slow, ms; 0 for `failing`. */
  readonly limit: number
  /** The number of runs that `before` and `after` were computed from. */
  readonly runs: { readonly before: number; readonly after: number }
  readonly first: Outcome
  /** The run at which the regression became certain. */
  readonly flagged: Outcome
  /** The run at which the regression ended: it `recovered`, or it lasted so long that it is the new normal (`settled`). */
  readonly resolved?: { readonly by: Outcome; readonly how: 'recovered' | 'settled' } | undefined
}

export interface Rule {
  /**
   * How much longer a run must take than before to count as slower, as a share (0.25 means a quarter). The difference must also be at least
   * `slowerBy`.
   */
  readonly slower: number
  /** The minimum difference of a slower run, ms. */
  readonly slowerBy: number
  /** How much the share of failed runs must grow to count as less reliable (for example, 0.2 means from 5 % to 25 %). */
  readonly failing: number
}

export const day = 86_400_000

/** The minimum data for a baseline: this many runs, the oldest at least a week old, so that each day of the week is included. */
export const minBaseline = { runs: 20, age: 7 * day }
/** The days that form the baseline: four weeks. If these contain fewer than `runs` runs, the baseline is extended to up to 90 days. */
export const baselinePeriod = { days: 28, runs: 50, maxDays: 90 }
/**
 * How many runs a change must last before it is flagged, and a recovery before the regression is resolved. A small change must also last until the
 * next day.
 */
export const minRuns = 5
/**
 * The required evidence as log-likelihood ratios. To flag a change, the runs must be 30,000 times likelier with the change than without it. To
 * resolve a regression, the factor is 1,000.
 */
export const evidence = { flag: Math.log(30_000), resolve: Math.log(1_000) }
/** The duration after which a regression becomes the new normal, ms. */
export const settlesAfter = 28 * day
