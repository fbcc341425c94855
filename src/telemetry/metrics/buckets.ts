// Buckets of histograms.

/** Seconds; as in the platform's own exporter. */
export const defaultBounds: readonly number[] = [1, 5, 10, 30, 60, 300, 600, 1800, 3600]

/** Seconds; for what takes minutes to weeks, such as from a commit to its deployment. */
export const longBounds: readonly number[] = [
  ...[300, 900, 3_600, 4 * 3_600, 12 * 3_600],
  ...[1, 2, 7, 14, 30, 90].map(days => days * 86_400),
]

/** One count for each bucket, upper bounds included (OTLP: `(lower, upper]`), and one above the last bound. */
export function bucketed(values: readonly number[], bounds: readonly number[]): number[] {
  const counts = new Array<number>(bounds.length + 1).fill(0)
  for (const value of values) {
    const found = bounds.findIndex(bound => value <= bound)
    const bucket = found === -1 ? bounds.length : found
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }
  return counts
}
