// Medians and percentiles. Pages and metrics use one definition: a percentile is the value at the nearest rank, and the median of an even number of
// values is the mean of the two middle values.

/**
 * Returns the ranks, counted from 1, of the two values whose mean is the quantile. Usually both ranks are equal. A `share` of 0.5 is the median, 0.95
 * the 95th percentile.
 */
export function ranksOf(count: number, share: number): readonly [lower: number, upper: number] {
  // The epsilon compensates for floating point: 0.07 × 100 exceeds 7.
  const rank = Math.max(1, Math.ceil(count * share - 1e-9))
  return [rank, share === 0.5 && count % 2 === 0 ? rank + 1 : rank]
}

/** Returns the quantile of the values; undefined if there are none. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const [lower, upper] = ranksOf(sorted.length, share).map(rank => sorted[rank - 1])
  return lower === undefined || upper === undefined ? undefined : (lower + upper) / 2
}

/** Returns the median of the values; undefined if there are none. */
export function median(values: readonly number[]): number | undefined {
  return quantile(values, 0.5)
}
