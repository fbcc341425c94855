// A histogram with exponential bins, eight to each doubling: percentiles are right within 5 % for values of any size, and the
// histograms of two periods can be added up.

/** Counts by the bin's number. */
export type Bins = Readonly<Record<string, number>>

const perOctave = 8

/** The bin of a value; all below 1 share one. */
export function binOf(value: number): number {
  return value < 1 ? 0 : 1 + Math.floor(Math.log2(value) * perOctave)
}

/** The middle of a bin. */
export function middleOf(bin: string): number {
  const number = Number(bin)
  return number === 0 ? 0 : 2 ** ((number - 0.5) / perOctave)
}

export function plusBins(a: Bins, b: Bins): Bins {
  const sum: Record<string, number> = { ...a }
  for (const [bin, count] of Object.entries(b)) sum[bin] = (sum[bin] ?? 0) + count
  return sum
}

/** The value below which that share of all values lies (0.95: the 95th percentile); undefined when nothing was counted. */
export function percentileOf(bins: Bins, share: number): number | undefined {
  const total = Object.values(bins).reduce((sum, count) => sum + count, 0)
  let reached = 0
  for (const [bin, count] of Object.entries(bins).sort((a, b) => Number(a[0]) - Number(b[0]))) {
    reached += count
    if (reached >= total * share) return middleOf(bin)
  }
  return undefined
}
