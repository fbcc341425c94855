// The median of figures that are at hand.

/** The lower one of an even number; undefined of none. */
export function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]
}
