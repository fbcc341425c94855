// Finds where a series of runs became slower or less reliable: the run at which the change began, and when the change ended. Pure. The order in which
// runs are passed does not matter.
//
//   normal ──(evidence of a change adds up, run by run)──► flagged ──(evidence of recovery adds up)──► resolved ──► normal
//     ▲                                                       └──(four weeks)──► settled: the new normal ──┐
//     └────────────────────────────────────────────────────────────────────────────────────────────────────┘
//
// A run is bad or good compared with a baseline from the days before (baseline.ts). The evidence is the logarithm of how much likelier the runs are
// with a change than without one (CUSUM). Where bad runs are rare, a few in a row suffice. Where they are common, as with occasional cache misses,
// many are needed. A good run reduces that likelihood by about half.
import { median } from '../../lib/quantile.ts'
import { day, evidence, minRuns, settlesAfter } from './series.ts'
import type { Episode, Outcome, RegressionKind, Rule, Series } from './series.ts'
import { maxProbability, shareAtLeast, baselineOf, type Stretch, type Baseline } from './baseline.ts'
import type { Millis } from '../../model/instant.ts'

/** The findings of earlier judgements of the same series. They are needed because some of its runs may no longer be stored. */
export interface Past {
  /** An episode that has not ended. The runs since it was flagged decide whether it has ended in the meantime. */
  readonly open?: Episode | undefined
  /** Resolved episodes. Their runs are not judged again. */
  readonly over: readonly Episode[]
}

/**
 * Returns episodes in chronological order; the last one may not have ended. If `past` is given, returns its open episode, if any, and the episodes
 * that began later.
 */
export function findRegressions(kind: RegressionKind, { days, runs }: Series, rule: Rule, past?: Past): Episode[] {
  const found: Episode[] = []
  const without: Stretch[] = (past?.over ?? []).flatMap(episode => stretchOf(episode))
  let suspicion: Suspicion | undefined
  let open: Open | undefined
  const judgedUpTo = Math.max(-Infinity, ...(past?.over ?? []).map(({ resolved }) => resolved?.by.at ?? -Infinity))
  let known: { readonly day: Millis; readonly baseline: Baseline | undefined } | undefined

  const baselineAt = (at: Millis): Baseline | undefined => {
    const today = at - (at % day)
    if (known?.day !== today) known = { day: today, baseline: baselineOf(kind, days, today, without, rule) }
    return known.baseline
  }

  if (past?.open !== undefined) {
    const { first } = past.open
    const baseline = baselineOf(kind, days, first.at - (first.at % day), without, rule)
    // Without figures from before the episode there is no baseline, so the episode can only end by becoming the new normal.
    open = new Open(past.open, [], baseline)
  }

  for (const run of inOrder(runs)) {
    if (run.at <= judgedUpTo || run.at <= (past?.open?.flagged.at ?? -Infinity)) continue
    if (kind === 'slower' && run.failed) continue
    if (open !== undefined) {
      const how = open.add(run)
      if (how === undefined) continue
      const episode: Episode = { ...open.episode, resolved: { by: run, how } }
      found.push(episode)
      without.push(...stretchOf(episode))
      open = undefined
      known = undefined
      continue
    }
    // While a regression is suspected, the baseline stays the same, because a newer one would soon include the suspicious runs.
    const baseline: Baseline | undefined = suspicion?.baseline ?? baselineAt(run.at)
    if (baseline === undefined) continue
    suspicion = suspicion ?? new Suspicion(kind, baseline, rule)
    suspicion.add(run)
    const episode = suspicion.certain(run)
    if (episode !== undefined) open = new Open(episode, suspicion.since, baseline)
    if (episode !== undefined || suspicion.isOver) suspicion = undefined
  }
  return open === undefined ? found : [...found, open.episode]
}

/** A series of runs that may be the beginning of a regression. */
class Suspicion {
  readonly baseline: Baseline
  readonly #kind: RegressionKind
  readonly #rule: Rule
  readonly #likely: number
  #evidence = 0
  #runs: Outcome[] = []
  /** The runs since the first bad run, including it. Set once the regression is certain. */
  since: readonly Outcome[] = []

  constructor(kind: RegressionKind, baseline: Baseline, rule: Rule) {
    const { usual } = baseline.flag
    this.baseline = baseline
    this.#kind = kind
    this.#rule = rule
    this.#likely = kind === 'slower' ? (1 + usual) / 2 : usual + rule.failing
  }

  get isOver(): boolean {
    return this.#evidence <= 0
  }

  add(run: Outcome): void {
    const { isBad, usual } = this.baseline.flag
    const bad = isBad(run)
    // Several failed runs of one merge request count as one failure, because its author may need several attempts to get it right.
    if (bad && this.#kind === 'failing' && this.#runs.some(one => isSameChange(one, run) && isBad(one))) return
    const more = bad ? Math.log(this.#likely / usual) : Math.log((1 - this.#likely) / (1 - usual))
    this.#evidence = Math.min(2 * evidence.flag, this.#evidence + more)
    if (this.#evidence > 0) this.#runs.push(run)
  }

  /** Returns the episode once there is enough evidence, the change has lasted for some runs, and its effect justifies an alarm. */
  certain(flagged: Outcome): Episode | undefined {
    if (this.#evidence < evidence.flag) return undefined
    const since = this.#sinceFirst()
    const [first] = since
    if (first === undefined || since.length < minRuns) return undefined
    this.since = since
    const { before, limit, runs, flag, isFar } = this.baseline
    const isSlower = this.#kind === 'slower'
    const share = (of: (run: Outcome) => boolean): number => since.filter(of).length / since.length
    // The required share of bad runs. If more than half of the runs exceed the limit, their median exceeds it too.
    const enough = isSlower ? 0.5 : before + this.#rule.failing
    if (share(flag.isBad) <= enough) return undefined
    // A small effect must last until the next day before it is flagged, because a busy afternoon makes many runs a little worse.
    const isGreat = share(isFar) > (isSlower ? enough : enough + this.#rule.failing)
    if (!isGreat && badOnAnotherDay(since, flag.isBad) < minRuns) return undefined
    const after = isSlower ? (median(since.map(({ tookMs }) => tookMs)) ?? 0) : share(flag.isBad)
    return { kind: this.#kind, before, after, limit, runs: { before: runs, after: since.length }, first, flagged }
  }

  /**
   * Returns the runs since the most likely change: the run from which a change explains the runs best (maximum likelihood). A slow run before the
   * change is left out.
   */
  #sinceFirst(): Outcome[] {
    const { isBad, usual } = this.baseline.flag
    const late = this.#runs.slice(-2 * minRuns)
    const share = Math.min(maxProbability, Math.max(this.#likely, late.filter(isBad).length / late.length))
    let best = { at: this.#runs.length, sum: 0 }
    let sum = 0
    for (const [back, run] of this.#runs.toReversed().entries()) {
      const bad = isBad(run)
      sum += bad ? Math.log(share / usual) : Math.log((1 - share) / (1 - usual))
      if (bad && sum >= best.sum) best = { at: this.#runs.length - 1 - back, sum }
    }
    return this.#runs.slice(best.at)
  }
}

/** A regression that has not ended yet. */
class Open {
  readonly episode: Episode
  readonly #baseline: Baseline | undefined
  #evidence = 0
  /** How many runs came before those in `#good`, and how many of them were bad. */
  readonly #before = { bad: 0, all: 0 }
  /** The latest runs, which may be the beginning of the recovery. */
  #good: Outcome[] = []

  /**
   * `since` contains the runs since the regression began (`Suspicion.since`). If it is empty, the numbers of runs and of bad runs are estimated from
   * the stored episode.
   */
  constructor(episode: Episode, since: readonly Outcome[], baseline: Baseline | undefined) {
    this.episode = episode
    this.#baseline = baseline
    this.#count(since)
    if (since.length > 0) return
    const { kind, after, runs } = episode
    this.#before = { bad: Math.round(runs.after * (kind === 'slower' ? maxProbability : after)), all: runs.after }
  }

  /** Adds a run. Returns how the regression ends with this run, or undefined if it does not end. */
  add(run: Outcome): 'recovered' | 'settled' | undefined {
    if (run.at - this.episode.first.at >= settlesAfter) return 'settled'
    if (this.#baseline === undefined) return undefined
    const { isBad, usual } = this.#baseline.back
    const { bad, all } = this.#before
    // A job that fails only now and then also has streaks of good runs. So the more often it failed, the more a good run proves.
    const likely = Math.max(shareAtLeast(bad, all), usual + (1 - usual) / 5)
    this.#evidence += isBad(run) ? Math.log(usual / likely) : Math.log((1 - usual) / (1 - likely))
    this.#good.push(run)
    if (this.#evidence <= 0) {
      this.#evidence = 0
      this.#count(this.#good)
      this.#good = []
    }
    return this.#evidence >= evidence.resolve && this.#good.length >= minRuns ? 'recovered' : undefined
  }

  #count(runs: readonly Outcome[]): void {
    this.#before.all += runs.length
    this.#before.bad += runs.filter(run => this.#baseline?.back.isBad(run)).length
  }
}

/**
 * Returns the days that do not show what is normal: the days of an episode that recovered, or the days before an episode that became the new normal.
 */
function stretchOf({ first, resolved }: Episode): Stretch[] {
  if (resolved === undefined) return []
  return [resolved.how === 'settled' ? { from: -Infinity, to: first.at - day } : { from: first.at, to: resolved.by.at }]
}

function isSameChange(a: Outcome, b: Outcome): boolean {
  return a.change !== undefined && a.change === b.change
}

function badOnAnotherDay(runs: readonly Outcome[], isBad: (run: Outcome) => boolean): number {
  const first = Math.floor((runs[0]?.at ?? 0) / day)
  return runs.filter(run => Math.floor(run.at / day) > first && isBad(run)).length
}

function inOrder(runs: readonly Outcome[]): Outcome[] {
  const once = new Map(runs.map(run => [run.id, run]))
  return [...once.values()].sort((a, b) => a.at - b.at || a.id - b.id)
}
