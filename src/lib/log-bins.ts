// A histogram with exponential bins, eight per doubling. Percentiles are accurate to 5 % for values of any size, and the histograms of two periods
// can be added.
import { ranksOf } from './quantile.ts'

/** The counts of a histogram by bin number. */
export type Bins = Readonly<Record<string, number>>

const perOctave = 8

/** All values below 1 share one bin. */
export function binOf(value: number): number {
  return value < 1 ? 0 : 1 + Math.floor(Math.log2(value) * perOctave)
}

/** Returns the value in the middle of a bin. */
export function middleOf(bin: string): number {
  const number = Number(bin)
  return number === 0 ? 0 : 2 ** ((number - 0.5) / perOctave)
}

export function plusBins(a: Bins, b: Bins): Bins {
  const sum: Record<string, number> = { ...a }
  for (const [bin, count] of Object.entries(b)) sum[bin] = (sum[bin] ?? 0) + count
  return sum
}

/**
 * Returns a quantile of the values in these bins, as `quantile` does: 0.5 is the median, 0.95 the 95th percentile. Returns undefined if nothing was
 * counted.
 */
export function percentileOf(bins: Bins, share: number): number | undefined {
  const sorted = Object.entries(bins).sort((a, b) => Number(a[0]) - Number(b[0]))
  const valueAt = (rank: number): number | undefined => {
    let reached = 0
    const found = sorted.find(([, count]) => (reached += count) >= rank)
    return found && middleOf(found[0])
  }
  const total = sorted.reduce((sum, [, count]) => sum + count, 0)
  const [lower, upper] = ranksOf(total, share).map(valueAt)
  return lower === undefined || upper === undefined ? undefined : (lower + upper) / 2
}

/** The steps in ms to which durations are rounded. Steps of a second and longer are 1, 2, 5, 10, 15 or 30 seconds, minutes or hours, as on clocks. */
const steps = [1, 2, 5].flatMap(one => [one, one * 10, one * 100])
const longSteps = [1, 2, 5, 10, 15, 30].flatMap(one => [one * 1_000, one * 60_000, one * 3_600_000])
const roundSteps = [...steps, ...longSteps].sort((a, b) => b - a)

/** Like `percentileOf`, for durations in ms. The result is rounded, because its digits would suggest more precision than the bins have. */
export function roundPercentileOf(bins: Bins, share: number): number | undefined {
  const value = percentileOf(bins, share)
  const step = roundSteps.find(one => value !== undefined && one <= value * 0.05) ?? 1
  return value === undefined ? undefined : Math.round(value / step) * step
}

/**
 * A mutable histogram. Thousands are in memory at a time, most of them with few values. So each is a flat list of numbers: an object with a property
 * per bin would take several times the memory.
 */
export class BinCounts {
  /** The flat list: bin, count, bin, count, …, in the order of the bins. */
  readonly #pairs: number[]

  constructor(pairs: readonly number[] = []) {
    this.#pairs = [...pairs]
  }

  count(value: number): void {
    this.#add(binOf(value), 1)
  }

  add(more: BinCounts): void {
    const pairs = more.#pairs
    for (let at = 0; at < pairs.length; at += 2) this.#add(pairs[at] ?? 0, pairs[at + 1] ?? 0)
  }

  addBins(bins: Bins): void {
    for (const bin in bins) this.#add(Number(bin), bins[bin] ?? 0)
  }

  copy(): BinCounts {
    return new BinCounts(this.#pairs)
  }

  bins(): Bins {
    const bins: Record<string, number> = {}
    for (let at = 0; at < this.#pairs.length; at += 2) bins[this.#pairs[at] ?? 0] = this.#pairs[at + 1] ?? 0
    return bins
  }

  /** Returns the same string as `JSON.stringify(this.bins())`. */
  json(): string {
    let text = '{'
    for (let at = 0; at < this.#pairs.length; at += 2) {
      text += `${at === 0 ? '' : ','}"${this.#pairs[at]}":${this.#pairs[at + 1]}`
    }
    return `${text}}`
  }

  #add(bin: number, count: number): void {
    const pairs = this.#pairs
    let at = 0
    while (at < pairs.length && (pairs[at] ?? 0) < bin) at += 2
    if (pairs[at] === bin) pairs[at + 1] = (pairs[at + 1] ?? 0) + count
    else pairs.splice(at, 0, bin, count)
  }
}
