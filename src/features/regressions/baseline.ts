// Determines what is normal from the daily figures: the duration above which a run is slow, and the usual share of slow or failed runs. It uses
// medians and shares instead of averages, so that single outliers do not matter. Pure.
import { baselinePeriod, day, minBaseline, minRuns } from './series.ts'
import type { DayOfRuns, Outcome, RegressionKind, Rule } from './series.ts'
import { middleOf, percentileOf, plusBins, type Bins } from '../../lib/log-bins.ts'
import type { Millis } from '../../model/instant.ts'

/** The baseline values that runs are compared against. `before`, `limit` and `runs` mean the same as in an `Episode`. */
export interface Baseline {
  readonly before: number
  readonly limit: number
  readonly runs: number
  /** The measure for flagging a regression. */
  readonly flag: Measure
  /** Whether a run is so bad that its distance from the normal value is more than twice the limit's distance. */
  readonly isFar: (run: Outcome) => boolean
  /** The measure for noticing a recovery. Its limit is stricter than the limit for flagging. */
  readonly back: Measure
}

interface Measure {
  /** Returns how many runs of a day or an hour are bad, as exactly as the bins allow. */
  readonly countBad: (those: DayOfRuns) => number
  readonly isBad: (run: Outcome) => boolean
  /** The usual share of bad runs. It is never 0, because what has never happened may still happen. */
  readonly usual: number
}

/** A series of days that are excluded from the baseline. */
export interface Stretch {
  readonly from: Millis
  readonly to: Millis
}

/** Returns a baseline computed from the days before `before`, or undefined if these contain too few runs or do not reach back far enough. */
export function baselineOf(
  kind: RegressionKind,
  days: readonly DayOfRuns[],
  before: Millis,
  without: readonly Stretch[],
  rule: Rule,
): Baseline | undefined {
  const those = usualDays(kind, days, before, without)
  const runs = those.reduce((sum, one) => sum + one.runs, 0)
  const oldest = those.at(-1)?.day ?? before
  if (before - oldest < minBaseline.age || runs < minBaseline.runs) return undefined
  return kind === 'slower' ? ofDurations(those, runs, rule) : ofFailures(those, runs, rule)
}

/** Returns the days of the baseline, newest first: four weeks, so that each day of the week is included, and more if runs are rare. */
function usualDays(
  kind: RegressionKind,
  days: readonly DayOfRuns[],
  before: Millis,
  without: readonly Stretch[],
): DayOfRuns[] {
  const found: DayOfRuns[] = []
  let runs = 0
  for (const one of days.toSorted((a, b) => b.day - a.day)) {
    if (one.day >= before || one.runs === 0) continue
    if (without.some(({ from, to }) => one.day + day > from && one.day <= to)) continue
    // A day with many failures is skipped for `slower`, because failed runs end early and distort the durations.
    if (kind === 'slower' && one.failed * 4 > one.runs) continue
    const age = before - one.day
    if (age > baselinePeriod.maxDays * day || (age > baselinePeriod.days * day && runs >= baselinePeriod.runs)) break
    found.push(one)
    runs += one.runs
  }
  return found
}

function ofDurations(days: readonly DayOfRuns[], runs: number, rule: Rule): Baseline {
  const before = medianOf(days)
  // Each day of the week has its own limit. For example, if Mondays are slow every week, a Monday is compared with Mondays.
  const ofWeek = weekdays.map(weekday => {
    const those = days.filter(one => weekdayOf(one.day) === weekday)
    const usual = those.reduce((sum, one) => sum + one.runs, 0) < minRuns ? before : Math.max(before, medianOf(those))
    return { usual, limit: Math.max(usual * (1 + rule.slower), usual + rule.slowerBy) }
  })
  const slowerThan = (limitOf: (weekday: { usual: number; limit: number }) => number): Measure => {
    const limits = ofWeek.map(limitOf)
    const countBad = ({ day: at, durations }: DayOfRuns): number => countAbove(durations, limits[weekdayOf(at)] ?? 0)
    const above = days.reduce((sum, one) => sum + countBad(one), 0)
    return { isBad: beyond(limits), countBad, usual: shareAtMost(above, runs) }
  }
  return {
    ...{ before, runs, limit: Math.max(before * (1 + rule.slower), before + rule.slowerBy) },
    flag: slowerThan(({ limit }) => limit),
    isFar: beyond(ofWeek.map(({ usual, limit }) => 2 * limit - usual)),
    back: slowerThan(({ usual, limit }) => (usual + limit) / 2),
  }
}

/** `limits` contains one duration for each day of the week, ms. */
function beyond(limits: readonly number[]): (run: Outcome) => boolean {
  return ({ at, tookMs }) => tookMs > (limits[weekdayOf(at)] ?? 0)
}

const weekdays = [0, 1, 2, 3, 4, 5, 6]

function weekdayOf(at: Millis): number {
  return Math.floor(at / day) % 7
}

function medianOf(days: readonly DayOfRuns[]): number {
  return percentileOf(days.map(({ durations }) => durations).reduce(plusBins, {}), 0.5) ?? 0
}

function countAbove(durations: Bins, limit: number): number {
  return Object.entries(durations).reduce((sum, [bin, count]) => sum + (middleOf(bin) > limit ? count : 0), 0)
}

function ofFailures(days: readonly DayOfRuns[], runs: number, rule: Rule): Baseline | undefined {
  const failed = days.reduce((sum, one) => sum + one.failed, 0)
  const measure: Measure = { isBad: run => run.failed, countBad: one => one.failed, usual: shareAtMost(failed, runs) }
  if (measure.usual + rule.failing > maxProbability) return undefined
  return { before: failed / runs, limit: 0, runs, flag: measure, isFar: measure.isBad, back: measure }
}

/** The lowest probability that is used; its complement is the highest. Nothing is certain, however many runs there were. */
const minProbability = 0.02
export const maxProbability = 0.95

/** Returns an upper bound for the true share of bad runs, given that `some` of `all` runs were bad (Wilson score interval, one-sided, 95 %). */
function shareAtMost(some: number, all: number): number {
  return within(wilson(some, all, 1))
}

/** Returns a lower bound for the true share of bad runs, given that `some` of `all` runs were bad (Wilson score interval, one-sided, 95 %). */
export function shareAtLeast(some: number, all: number): number {
  return within(wilson(some, all, -1))
}

function wilson(some: number, all: number, side: 1 | -1): number {
  const z = 1.645
  if (all === 0) return side === 1 ? 1 : 0
  const share = some / all
  const spread = z * Math.sqrt((share * (1 - share)) / all + (z / (2 * all)) ** 2)
  return (share + z ** 2 / (2 * all) + side * spread) / (1 + z ** 2 / all)
}

function within(share: number): number {
  return Math.min(maxProbability, Math.max(minProbability, share))
}
