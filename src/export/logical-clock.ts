// A logical clock: decides which of two moments of this process came first. Real clocks are too coarse, and may be set back.

let last = 0

/** Greater than every answer before. */
export function tick(): number {
  last += 1
  return last
}
