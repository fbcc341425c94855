// How long the idempotency keys of deliveries are remembered.

export const oneDay = 24 * 3_600_000
/** Ms. */
export const keyMemory = 7 * oneDay

/** The time of a key is rounded up to the end of its day, so that no key is forgotten too early. */
export function endOfDay(time: number): number {
  return (Math.floor(time / oneDay) + 1) * oneDay
}
