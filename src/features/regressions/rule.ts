// When a change is worth an alarm: what the operator decides (`Rule`), and what the method fixes. docs/regressions.md explains each
// constant, with the figures that decided it.

export interface Rule {
  /** Slower: longer than before by this share (0.25: a quarter) and by `slowerBy`. */
  readonly slower: number
  /** ms. */
  readonly slowerBy: number
  /** Less reliable: the share of failed runs grew by this much (0.2: from 5 % to 25 %). */
  readonly failing: number
}

export const day = 86_400_000

/** What the days before must have at least: so many runs, the oldest of them a week ago, so that each day of the week is included. */
export const least = { runs: 20, age: 7 * day }
/** Which days before are looked at: those of four weeks, and where these have fewer runs, up to 90 days. */
export const baseline = { days: 28, runs: 50, daysAtMost: 90 }
/** How many runs a change must last before it is flagged, a small one on the next day too; and a recovery before it is resolved. */
export const holdsFor = 5
/** Log-likelihood ratio: the runs must be 30,000 times likelier with a change than without it. */
export const evidence = { flag: Math.log(30_000), resolve: Math.log(1_000) }
/** What has lasted this long is the new normal, ms. */
export const settlesAfter = 28 * day
