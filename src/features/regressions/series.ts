// What is judged: the runs of one job, of a section of it, or of a project's pipelines, on one class of branch. Recent runs are judged one by one, older
// ones as daily figures. And when a change justifies an alarm: the operator sets `Rule`, the method has constants; docs/regressions.md explains each
// constant, with the figures that decided it. Pure.
import type { Bins } from '../../lib/log-bins.ts'
import type { BranchClass } from '../../model/pipeline.ts'
import type { Millis } from '../../model/instant.ts'

export interface Outcome {
  /** When it ended. */
  readonly at: Millis
  /** Distinguishes runs that ended at the same time: the job's id, or one made of pipeline and attempt. */
  readonly id: number
  readonly tookMs: number
  readonly failed: boolean
  /** The merge request or branch; undefined on the default branch, where each run is a change of its own. */
  readonly change?: string | undefined
}

export interface DayOfRuns {
  /** Start of the day, UTC. */
  readonly day: Millis
  readonly runs: number
  readonly failed: number
  readonly durations: Bins
}

export interface Series {
  /** Daily figures of all runs, including those in `runs`; in any order. */
  readonly days: readonly DayOfRuns[]
  /** In any order. */
  readonly runs: readonly Outcome[]
}

export const regressionKinds = ['slower', 'failing'] as const
export type RegressionKind = (typeof regressionKinds)[number]

export interface Subject {
  readonly branch: BranchClass
  /** Empty: the project's pipelines. */
  readonly job: string
  /** The section of the job; empty: the job itself. */
  readonly section: string
  readonly kind: RegressionKind
}

/** One regression over time, from its first bad run to its end. */
export interface Episode {
  readonly kind: RegressionKind
  /** The median, ms; for `failing` the share of failed runs. */
  readonly before: number
  readonly after: number
  /** Runs that took longer are slow, ms; 0 for `failing`. */
  readonly limit: number
  /** How many runs `before` and `after` were computed from. */
  readonly runs: { readonly before: number; readonly after: number }
  readonly first: Outcome
  /** The run with which it became certain. */
  readonly flagged: Outcome
  /** The run with which it ended: it `recovered`, or it lasted so long that it is the new normal (`settled`). */
  readonly resolved?: { readonly by: Outcome; readonly how: 'recovered' | 'settled' } | undefined
}

export interface Rule {
  /** Slower: longer than before by this share (0.25: a quarter) and by `slowerBy`. */
  readonly slower: number
  /** The minimum difference, ms. */
  readonly slowerBy: number
  /** Less reliable: the share of failed runs grew by this much (0.2: from 5 % to 25 %). */
  readonly failing: number
}

export const day = 86_400_000

/** What the days before must have at least: this many runs, the oldest of them a week old, so that each day of the week is included. */
export const least = { runs: 20, age: 7 * day }
/** The days that make the baseline: four weeks; if these have fewer runs than `runs`, up to 90 days. */
export const baseline = { days: 28, runs: 50, daysAtMost: 90 }
/** How many runs a change must last before it is flagged (a small one until the next day, too), and a recovery before the regression is resolved. */
export const holdsFor = 5
/** Log-likelihood ratio: the runs must be 30,000 times likelier with a change than without it. */
export const evidence = { flag: Math.log(30_000), resolve: Math.log(1_000) }
/** A regression that has lasted this long is the new normal, ms. */
export const settlesAfter = 28 * day
