// Points in time as the model keeps them: whole milliseconds of Unix time. It knows nothing of how the wire spells them.

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Millis = number

/** The whole second an instant lies in; an unknown instant lies before every known one. */
export function second(at: Millis | undefined): number {
  return at === undefined ? 0 : Math.floor(at / 1000)
}

/**
 * The later of two instants. Webhooks cut times to the second and REST does not, so of two that are equal at the second
 * the later is also the more precise.
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
