// Represents points in time and durations, and formats durations for pages, sentences and terminals.

/** A Unix time or a duration, in milliseconds. */
export type Millis = number

/** Truncates a time to whole seconds. An unknown time counts as earlier than every known one. */
export function second(at: Millis | undefined): number {
  return at === undefined ? 0 : Math.floor(at / 1000)
}

/**
 * The later of two times. If both are in the same second, the later one is also the more precise one: webhooks truncate times to whole seconds, REST
 * does not.
 */
export function later(a: Millis | undefined, b: Millis | undefined): Millis | undefined {
  if (a === undefined) return b
  if (b === undefined) return a
  return Math.max(a, b)
}

/** Returns the latest of the known times; undefined if none is known. */
export function latest(times: Iterable<Millis | undefined>): Millis | undefined {
  let found: Millis | undefined
  for (const time of times) found = later(found, time)
  return found
}

/** Returns the earliest of the known times; undefined if none is known. */
export function earliest(times: Iterable<Millis | undefined>): Millis | undefined {
  let found: Millis | undefined
  for (const time of times) if (time !== undefined && (found === undefined || time < found)) found = time
  return found
}

/** Formats a duration: `850 ms`, `4.2 s`, `12 m 05 s`, `3 h 20 m`, `2 d 4 h`. The unit is chosen after rounding, so 999.6 ms becomes one second. */
export function durationText(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  if (whole < 1_000) return `${whole} ms`
  const tenths = Math.round(ms / 100)
  if (tenths < 100) return `${(tenths / 10).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${twoDigits(seconds % 60)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} m`
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`
}

/**
 * Formats a duration to the second, or below a minute to a tenth of a second: `1 h 05 m 12 s`, `45.3 s`. It is used for positive and negative figures
 * that partly cancel out, because each of them may be larger than their sum.
 */
export function exactDurationText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  const tenths = Math.round(ms / 100)
  if (seconds >= 3_600) {
    const minutes = Math.floor(seconds / 60)
    return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} m ${twoDigits(seconds % 60)} s`
  }
  return tenths >= 100 && tenths < 600 && tenths % 10 !== 0 ? `${(tenths / 10).toFixed(1)} s` : durationText(ms)
}

function twoDigits(number: number): string {
  return String(number).padStart(2, '0')
}
