// Simulates a year of job runs from a seed: how long they take, how often they fail, what disturbs them, and which regressions they have and when.
import { binOf } from '../../../src/lib/log-bins.ts'
import { day, type DayOfRuns, type Outcome, type Series } from '../../../src/features/regressions/series.ts'
import { Random } from '../../../src/simulator/platform/random.ts'

export interface Life {
  readonly seed: number
  /** The number of runs per day from Monday to Friday. On weekends there are a fifth as many. */
  readonly perDay: number
  /** The median run duration, ms. */
  readonly tookMs: number
  /** The standard deviation of the logarithm of the duration. */
  readonly noise: number
  /** The share of runs that miss the cache, and the factor by which these take longer. */
  readonly misses?: { readonly share: number; readonly times: number } | undefined
  /** The factor by which runs take longer on Mondays. */
  readonly monday?: number | undefined
  /** The maximum share by which runs take longer or shorter for some hours, because runners are more or less busy. */
  readonly busy?: number | undefined
  /** The share of runs that fail. */
  readonly fails: number
  /** The share of days on which a problem of the platform makes half of an hour's runs slow or fail. */
  readonly incidents: number
  readonly planted: readonly Planted[]
  /** The average number of runs per change. If it is 0, the runs are on the default branch. */
  readonly tries?: number | undefined
}

export interface Planted {
  readonly kind: 'slower' | 'failing'
  readonly fromDay: number
  readonly toDay: number
  /** The effect of the regression: the factor by which runs take longer, or the share of runs that fail. */
  readonly to: number
}

export const begin = Date.UTC(2025, 0, 6)

export function live(life: Life, days = 365): Outcome[] {
  const random = new Random(life.seed)
  const runs: Outcome[] = []
  let id = 1000
  let change = 0
  let left = 0
  for (let number = 0; number < days; number += 1) {
    const weekday = number % 7
    const many = weekday < 5 ? life.perDay : life.perDay / 5
    const count = Math.floor(many) + (random.next() < many % 1 ? 1 : 0)
    const times = Array.from({ length: count }, () => (7 + 12 * random.next()) / 24).sort((a, b) => a - b)
    const incident = random.next() < life.incidents ? 7 / 24 + random.next() / 2 : Infinity
    const busy = [1, 1, 1, 1].map(() => 1 + (life.busy ?? 0) * (2 * random.next() - 1))
    for (const time of times) {
      const at = number + time
      const now = life.planted.filter(({ fromDay, toDay }) => at >= fromDay && at < toDay)
      const slower = now.find(({ kind }) => kind === 'slower')?.to ?? 1
      const fails = now.find(({ kind }) => kind === 'failing')?.to ?? life.fails
      const disturbed = time >= incident && time < incident + 1 / 24 && random.next() < 0.5
      const misses = life.misses ?? { share: 0, times: 1 }
      const missed = random.next() < misses.share
      const tookMs =
        life.tookMs *
        Math.exp(life.noise * normal(random)) *
        (missed ? misses.times : 1) *
        (weekday === 0 ? (life.monday ?? 1) : 1) *
        (busy[Math.floor(((time * 24 - 7) / 12) * 4)] ?? 1) *
        (random.next() < 0.01 ? 1 + 4 * random.next() : 1) *
        (disturbed ? 3 : 1) *
        slower
      if (left === 0) {
        change += 1
        left = 1 + Math.floor(random.next() * 2 * ((life.tries ?? 1) - 1) + 0.5)
      }
      left -= 1
      runs.push({
        at: Math.round(begin + at * day),
        id: (id += 1),
        tookMs: Math.round(tookMs),
        failed: random.next() < (disturbed ? 0.5 : fails),
        change: (life.tries ?? 0) === 0 ? undefined : `!${change}`,
      })
    }
  }
  return runs
}

/** Returns the runs with their daily figures, in the form in which the store returns them. */
export function seriesOf(runs: readonly Outcome[]): Series {
  const days = new Map<number, { day: number; runs: number; failed: number; durations: Record<string, number> }>()
  for (const { at, tookMs, failed } of runs) {
    const bucket = at - (at % day)
    const sum = days.get(bucket) ?? { day: bucket, runs: 0, failed: 0, durations: {} }
    days.set(bucket, sum)
    sum.runs += 1
    if (failed) sum.failed += 1
    const bin = binOf(tookMs)
    sum.durations[bin] = (sum.durations[bin] ?? 0) + 1
  }
  return { days: [...days.values()] satisfies DayOfRuns[], runs }
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next())
}
