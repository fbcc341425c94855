// Tests which regressions are flagged in a simulated year, and which are not. In its long form, the test computes the figures in docs/regressions.md.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { begin, live, seriesOf, type Life, type Planted } from './simulated-year.ts'
import { day, regressionKinds, type Outcome, type Series } from '../../../src/features/regressions/series.ts'
import { defaults } from './judge.ts'
import { ruleOf } from '../../../src/features/regressions/options.ts'
import { findRegressions } from '../../../src/features/regressions/find-regressions.ts'
import { isFull, runs as tries } from '../../full.ts'

const defaultRule = ruleOf(defaults)

const calm: Life = { seed: 7, perDay: 12, tookMs: 300_000, noise: 0.1, fails: 0.03, incidents: 0, planted: [] }

describe("a year's regressions", () => {
  it('flags each regression of a year once, with its first bad run, and resolves it', () => {
    const planted: readonly Planted[] = [
      { kind: 'slower', fromDay: 60, toDay: 70, to: 2 },
      { kind: 'failing', fromDay: 121, toDay: 126, to: 1 },
      { kind: 'slower', fromDay: 200, toDay: 212, to: 1.6 },
    ]
    const runs = live({ ...calm, planted })
    const found = regressionKinds.flatMap(kind => findRegressions(kind, seriesOf(runs), defaultRule))
    const summed = found.map(({ kind, first, flagged, resolved, before, after }) => ({
      kind,
      isFirst: runs.find(({ at }) => at >= first.at - (first.at % day)) === first,
      firstDay: Math.floor((first.at - begin) / day),
      resolvedDay: Math.floor(((resolved?.by.at ?? 0) - begin) / day),
      how: resolved?.how,
      within: runs.filter(({ at }) => at >= first.at && at <= flagged.at).length,
      worse: kind === 'slower' ? Math.round((after / before) * 10) / 10 : Math.round(after * 10) / 10,
    }))
    expect(summed).toEqual([
      { kind: 'slower', isFirst: true, firstDay: 60, resolvedDay: 70, how: 'recovered', within: 5, worse: 2 },
      { kind: 'slower', isFirst: true, firstDay: 200, resolvedDay: 212, how: 'recovered', within: 5, worse: 1.8 },
      { kind: 'failing', isFirst: true, firstDay: 121, resolvedDay: 126, how: 'recovered', within: 5, worse: 1 },
    ])
  })

  it('treats a lasting regression as normal after four weeks, and does not flag a later speed-up', () => {
    const runs = live({ ...calm, planted: [{ kind: 'slower', fromDay: 100, toDay: 365, to: 1.8 }] })
    const found = findRegressions('slower', seriesOf(runs), defaultRule)
    expect(found).toHaveLength(1)
    expect(found[0]?.resolved?.how).toBe('settled')
    const days = ((found[0]?.resolved?.by.at ?? 0) - begin) / day
    expect(Math.floor(days)).toBe(128)
  })

  it('rarely flags noisy, cached or flaky jobs, or jobs that are slow on Mondays, without a regression', () => {
    const seeds = isFull ? 20 : 1
    const figures = judged(seeds)
    if (isFull) process.stdout.write(`${JSON.stringify(figures)}\n`)
    expect(figures.planted).toBeGreaterThan(25 * seeds)
    expect(figures.found / figures.planted).toBeGreaterThan(0.9)
    expect(figures.found / (figures.found + figures.falseAlarms)).toBeGreaterThan(0.9)
    expect(figures.falseAlarms / figures.years).toBeLessThan(0.25)
  })
})

describe('the search for a regression', () => {
  const series = fc
    .record({
      seed: fc.integer(),
      perDay: fc.integer({ min: 1, max: 12 }),
      to: fc.double({ min: 1, max: 3, noNaN: true }),
    })
    .map(({ seed, perDay, to }) =>
      live({ ...calm, seed, perDay, noise: 0.3, planted: [{ kind: 'slower', fromDay: 40, toDay: 50, to }] }, 60),
    )

  it('finds the same regression in whatever order runs and days are passed, even if some runs are passed twice', () => {
    fc.assert(
      fc.property(series, fc.integer(), (runs, seed) => {
        const { days } = seriesOf(runs)
        const mixed: Series = { days: shuffled(days, seed), runs: shuffled([...runs, ...runs.slice(0, 20)], seed) }
        for (const kind of regressionKinds) {
          expect(findRegressions(kind, mixed, defaultRule)).toEqual(findRegressions(kind, { days, runs }, defaultRule))
        }
      }),
      tries(100),
    )
  })

  it('finds no regression in a constant series', () => {
    const constant = fc.record({
      tookMs: fc.integer({ min: 0, max: 10 ** 8 }),
      failed: fc.boolean(),
      every: fc.integer({ min: 60_000, max: 3 * day }),
    })
    fc.assert(
      fc.property(constant, ({ tookMs, failed, every }) => {
        const count = Math.min(800, Math.ceil((90 * day) / every))
        const runs = Array.from({ length: count }, (_, id): Outcome => ({ at: begin + id * every, id, tookMs, failed }))
        for (const kind of regressionKinds) expect(findRegressions(kind, seriesOf(runs), defaultRule)).toEqual([])
      }),
      tries(100),
    )
  })

  it('for any runs, finds regressions that start with a bad run, are flagged later and resolved last, and never overlap', () => {
    fc.assert(
      fc.property(series, runs => {
        let end = -Infinity
        for (const { first, flagged, resolved, limit } of findRegressions('slower', seriesOf(runs), defaultRule)) {
          expect(first.tookMs).toBeGreaterThan(limit)
          expect(first.at).toBeGreaterThan(end)
          expect(flagged.at).toBeGreaterThan(first.at)
          end = resolved?.by.at ?? Infinity
          expect(end).toBeGreaterThan(flagged.at)
        }
      }),
      tries(100),
    )
  })

  it('flags no regression without at least a week and twenty runs to compare with', () => {
    const runs = live({ ...calm, planted: [{ kind: 'slower', fromDay: 5, toDay: 365, to: 3 }] }, 7)
    expect(findRegressions('slower', seriesOf(runs), defaultRule)).toEqual([])
  })

  it("finds the regression in the documentation's example", () => {
    const before = Array.from({ length: 412 }, (_, id): Outcome => ({
      at: begin + id * 5_000_000,
      id,
      tookMs: 300_000,
      failed: false,
    }))
    const took = [304, 450, 298, 300, 301, 299, 302, 490, 475, 482, 500, 468]
    const at = (before.at(-1)?.at ?? 0) + day
    const runs = took.map((seconds, index): Outcome => ({
      at: at + index,
      id: 1_000 + index,
      tookMs: seconds * 1_000,
      failed: false,
    }))
    const [found, ...more] = findRegressions('slower', { days: seriesOf(before).days, runs }, defaultRule)
    expect(more).toEqual([])
    expect([found?.first.id, found?.flagged.id, found?.after]).toEqual([1_007, 1_011, 482_000])
  })

  it('counts several failed runs for one change as one failure', () => {
    const runs = live({ ...calm, tries: 0 }, 30)
    const at = (runs.at(-1)?.at ?? 0) + day
    const failures = (change: (index: number) => string): Outcome[] =>
      Array.from({ length: 12 }, (_, index) => ({
        at: at + index,
        id: 10 ** 6 + index,
        tookMs: 1,
        failed: true,
        change: change(index),
      }))
    const found = (change: (index: number) => string) =>
      findRegressions('failing', { days: seriesOf(runs).days, runs: [...runs, ...failures(change)] }, defaultRule)
        .length
    expect([found(() => '!1'), found(index => `!${index}`)]).toEqual([0, 1])
  })
})

/**
 * Judges simulated jobs with 10 runs a day: a year without a regression, and years with one regression each that a person would want to know about.
 */
function judged(seeds: number): {
  years: number
  planted: number
  found: number
  falseAlarms: number
  runsUntil: number
} {
  const usual = { perDay: 10, tookMs: 300_000, noise: 0.1, fails: 0.03, incidents: 0.01, busy: 0.1 }
  const lives: readonly Omit<Life, 'seed' | 'planted'>[] = [
    usual,
    { ...usual, noise: 0.25 },
    { ...usual, misses: { share: 0.3, times: 3 }, tookMs: 120_000 },
    { ...usual, monday: 1.5 },
    { ...usual, fails: 0.2, busy: 0.2 },
    { ...usual, perDay: 40 },
    { ...usual, perDay: 3 },
  ]
  const plants = [
    { kind: 'slower', to: 1.5 },
    { kind: 'slower', to: 2 },
    { kind: 'failing', to: 0.8 },
    { kind: 'failing', to: 1 },
  ] as const
  const sum = { years: 0, planted: 0, found: 0, falseAlarms: 0 }
  const until: number[] = []
  for (const life of lives) {
    for (let seed = 1; seed <= seeds; seed += 1) {
      const quiet = seriesOf(live({ ...life, seed, planted: [] }))
      sum.years += 1
      sum.falseAlarms += regressionKinds.flatMap(kind => findRegressions(kind, quiet, defaultRule)).length
      for (const plant of plants) {
        const planted = { ...plant, fromDay: 100.4, toDay: 114.4 }
        const runs = live({ ...life, seed: seed + 1_000, planted: [planted] })
        const [from, to] = [begin + planted.fromDay * day, begin + planted.toDay * day]
        const hit = findRegressions(plant.kind, seriesOf(runs), defaultRule).find(
          ({ flagged }) => flagged.at >= from && flagged.at < to,
        )
        sum.planted += 1
        if (hit === undefined) continue
        sum.found += 1
        until.push(runs.filter(({ at }) => at >= from && at <= hit.flagged.at).length)
      }
    }
  }
  return { ...sum, runsUntil: until.sort((a, b) => a - b)[until.length >> 1] ?? 0 }
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  return items
    .map((item, index) => ({ item, place: (Math.sin(seed + index * 12.9898) * 43_758.5453) % 1 }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)
}
