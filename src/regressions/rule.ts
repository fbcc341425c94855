// From when on a change is worth an alarm: what the operator decides, and what the method fixes. docs/regressions.md explains each of
// them and has the figures that decided.

export interface Rule {
  /** So much longer than before, as a share of it: 0.25. */
  readonly slower: number
  /** And so much longer than before, ms. */
  readonly slowerBy: number
  /** So many more runs fail than before, as a share of all runs: 0.2. */
  readonly failing: number
}

export const usualRule: Rule = { slower: 0.25, slowerBy: 30_000, failing: 0.2 }

export const day = 86_400_000

/** So many runs, and the oldest so long ago, ms, before anything can be said of what is usual: each day of the week has been. */
export const least = { runs: 20, age: 7 * day }
/** How far back is looked for what is usual: further than this only until there were enough runs. */
export const baseline = { days: 28, runs: 50, daysAtMost: 90 }
/** A change holds for so many runs before it is flagged, a small one on the next day too, and for as many before it is resolved. */
export const holdsFor = 5
/** Evidence, as the logarithm of how much likelier the runs are with a change than without. */
export const evidence = { flag: Math.log(30_000), resolve: Math.log(1_000) }
/** What has lasted for so long is the new usual, ms. */
export const settlesAfter = 28 * day
