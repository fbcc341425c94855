// Histograms: which bucket a value falls into.

/** Seconds; what the platform's own exporter uses. */
export const defaultBounds: readonly number[] = [1, 5, 10, 30, 60, 300, 600, 1800, 3600]

/** One count for each bound, its upper end included (OTLP: `(lower, upper]`), and one for what lies above the last. */
export function bucketed(values: readonly number[], bounds: readonly number[]): number[] {
  const counts = new Array<number>(bounds.length + 1).fill(0)
  for (const value of values) {
    const found = bounds.findIndex(bound => value <= bound)
    const bucket = found === -1 ? bounds.length : found
    counts[bucket] = (counts[bucket] ?? 0) + 1
  }
  return counts
}
