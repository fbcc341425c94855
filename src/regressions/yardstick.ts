// What is usual, by the figures of days: from what duration on a run counts as slow, and how many such runs, or failed ones, there were
// anyway. Robust: medians and shares, no averages. Pure.
import { baseline, day, holdsFor, least, type Rule } from './rule.ts'
import { middleOf, percentileOf, plusBins, type Bins } from '../lib/log-bins.ts'
import type { DayOfRuns, Outcome, RegressionKind } from './series.ts'
import type { Millis } from '../model/instant.ts'

export interface Yardstick {
  readonly before: number
  readonly limit: number
  readonly runs: number
  /** Whether a run counts against it, and the share of runs that did: to flag, and, stricter, to be back. */
  readonly flag: Measure
  /** Whether a run is twice as far off. */
  readonly isFar: (run: Outcome) => boolean
  readonly back: Measure
}

export interface Measure {
  /** How many runs of a day, or of an hour, count, as far as bins say it. */
  readonly countBad: (those: DayOfRuns) => number
  readonly isBad: (run: Outcome) => boolean
  /** Of the runs before; never none, for what never happened may happen. */
  readonly usual: number
}

/** A stretch of days that says nothing of what is usual. */
export interface Stretch {
  readonly from: Millis
  readonly to: Millis
}

/** Of the days before this one; undefined where these are too few to say anything. */
export function yardstickOf(
  kind: RegressionKind,
  days: readonly DayOfRuns[],
  before: Millis,
  without: readonly Stretch[],
  rule: Rule,
): Yardstick | undefined {
  const those = usualDays(kind, days, before, without)
  const runs = those.reduce((sum, one) => sum + one.runs, 0)
  const oldest = those.at(-1)?.day ?? before
  if (before - oldest < least.age || runs < least.runs) return undefined
  return kind === 'slower' ? ofDurations(those, runs, rule) : ofFailures(those, runs, rule)
}

/** The newest first; of four weeks, so that each day of the week is among them, and of more where runs are rare. */
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
    // Of a day on which much failed durations say little: what fails ends early.
    if (kind === 'slower' && one.failed * 4 > one.runs) continue
    const age = before - one.day
    if (age > baseline.daysAtMost * day || (age > baseline.days * day && runs >= baseline.runs)) break
    found.push(one)
    runs += one.runs
  }
  return found
}

function ofDurations(days: readonly DayOfRuns[], runs: number, rule: Rule): Yardstick {
  const before = medianOf(days)
  // A day of the week that is slow every week is compared with its like.
  const ofWeek = weekdays.map(weekday => {
    const those = days.filter(one => weekdayOf(one.day) === weekday)
    const usual = those.reduce((sum, one) => sum + one.runs, 0) < holdsFor ? before : Math.max(before, medianOf(those))
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

/** `limits`: by day of the week, ms. */
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

function ofFailures(days: readonly DayOfRuns[], runs: number, rule: Rule): Yardstick | undefined {
  const failed = days.reduce((sum, one) => sum + one.failed, 0)
  const measure: Measure = { isBad: run => run.failed, countBad: one => one.failed, usual: shareAtMost(failed, runs) }
  if (measure.usual + rule.failing > mostLikely) return undefined
  return { before: failed / runs, limit: 0, runs, flag: measure, isFar: measure.isBad, back: measure }
}

/** No share is taken for certain, however many runs there were. */
const leastLikely = 0.02
export const mostLikely = 0.95

/** How great, and how small, a share may really be of which so many runs have shown so much: Wilson's bounds, one-sided, 95 %. */
export function shareAtMost(some: number, all: number): number {
  return within(wilson(some, all, 1))
}

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
  return Math.min(mostLikely, Math.max(leastLikely, share))
}
