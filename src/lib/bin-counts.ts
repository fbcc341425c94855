// A mutable histogram of `log-bins.ts`. Thousands are in memory at a time, most with a few values, so each is a flat list of numbers: an object
// with a property for each bin would take several times the memory.
import { binOf, type Bins } from './log-bins.ts'

export class BinCounts {
  /** Bin, count, bin, count, …, in the order of the bins. */
  readonly #pairs: number[]

  constructor(pairs: readonly number[] = []) {
    this.#pairs = [...pairs]
  }

  static of(bins: Bins): BinCounts {
    const counts = new BinCounts()
    counts.addBins(bins)
    return counts
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

  /** The same as `JSON.stringify(this.bins())`. */
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
