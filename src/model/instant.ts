// Points in time as the model has them.

/** Unix time in milliseconds, or a duration in milliseconds. */
export type Millis = number

/** The whole second of an instant; an unknown instant counts as earlier than every known one. */
export function second(at: Millis | undefined): number {
  return at === undefined ? 0 : Math.floor(at / 1000)
}

/**
 * The later of two instants. Webhooks truncate times to the second and REST does not, so of two in the same second the later one
 * is also the more precise one.
 */
export function later(a: Millis | undefined, b: Millis | undefined): Millis | undefined {
  if (a === undefined) return b
  if (b === undefined) return a
  return Math.max(a, b)
}

/** The latest of many instants, undefined when none is known. */
export function latest(times: Iterable<Millis | undefined>): Millis | undefined {
  let found: Millis | undefined
  for (const time of times) found = later(found, time)
  return found
}

/** The earliest of many instants, undefined when none is known. */
export function earliest(times: Iterable<Millis | undefined>): Millis | undefined {
  let found: Millis | undefined
  for (const time of times) if (time !== undefined && (found === undefined || time < found)) found = time
  return found
}
