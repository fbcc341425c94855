// The times a span may have: never the epoch, never an end before the start, never beyond what OTLP can carry.
import { millisToHrTime } from '@opentelemetry/core'
import type { HrTime } from '@opentelemetry/api'
import type { Millis } from '../model/instant.ts'

export interface SpanTimes {
  readonly start: Millis
  readonly end: Millis
}

/** 2^63 nanoseconds after the epoch, in the year 2262: OTLP could say more, signed backends could not. */
const lastInstant = 9_223_372_036_854

/**
 * A span's times from what is claimed. An instant that makes no sense is an unknown one: the start is then the end, and the
 * end the start; where neither is known, both are the first fallback that is. Undefined when nothing is known at all.
 */
export function spanTimes(
  start: Millis | undefined,
  end: Millis | undefined,
  fallbacks: () => readonly (Millis | undefined)[],
): SpanTimes | undefined {
  const from = isInstant(start) ? start : isInstant(end) ? end : fallbacks().find(isInstant)
  if (from === undefined) return undefined
  const first = Math.round(from)
  return { start: first, end: isInstant(end) ? Math.max(first, Math.round(end)) : first }
}

/** True for a time that a span may carry. */
export function isInstant(at: Millis | undefined): at is Millis {
  return at !== undefined && at >= 1 && at <= lastInstant
}

/** Exact: seconds, and the milliseconds as nanoseconds. */
export function hrTimeOf(at: Millis): HrTime {
  return millisToHrTime(at)
}
