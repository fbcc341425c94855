// Medians and percentiles. All figures with these names use one definition: the value at the nearest rank. The median of an even number of values is
// the mean of the two middle values.

/**
 * Returns the ranks, counted from 1, of the two values whose mean is the quantile. Usually both ranks are equal. A `share` of 0.5 is the median, 0.95
 * the 95th percentile.
 */
export function ranksOf(count: number, share: number): readonly [lower: number, upper: number] {
  // A small epsilon is subtracted because 0.07 × 100 exceeds 7 in floating point.
  const rank = Math.max(1, Math.ceil(count * share - 1e-9))
  return [rank, share === 0.5 && count % 2 === 0 ? rank + 1 : rank]
}

/** Returns undefined for an empty list. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const [lower, upper] = ranksOf(sorted.length, share).map(rank => sorted[rank - 1])
  return lower === undefined || upper === undefined ? undefined : (lower + upper) / 2
}

/** Returns undefined for an empty list. */
export function median(values: readonly number[]): number | undefined {
  return quantile(values, 0.5)
}
