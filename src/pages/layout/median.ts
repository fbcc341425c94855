// The median of a list of numbers.

/** The lower of the two middle values of an even number; undefined for an empty list. */
export function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]
}
