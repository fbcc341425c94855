// Cuts a list into slices of a limited size.

/** Slices whose sizes add up to `max` at most; a larger item is a slice by itself. */
export function cut<T>(items: readonly T[], sizeOf: (item: T) => number, max: number): T[][] {
  const slices: T[][] = []
  let sum = Infinity
  for (const item of items) {
    const size = sizeOf(item)
    sum += size
    if (sum > max) {
      slices.push([])
      sum = size
    }
    slices.at(-1)?.push(item)
  }
  return slices
}
