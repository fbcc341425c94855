// Some events have neither a time nor an id, such as that of a feature flag. Which deliveries are the same event is decided by the order of
// arrival: a state that equals the one before it, at most ten minutes later, is the same event (a project's hook and a group's hook both send it).
// A flag that is switched on, off and on again is three. Pure.
import type { Millis } from './instant.ts'

/** What a delivery reports of an object's state. */
export interface ReportedState {
  readonly content: string
  readonly receivedAt: Millis
}

/** Equal deliveries that are further apart are two events, ms. */
export const sameWithin = 600_000

/** True if a delivery repeats the state that was reported before it. */
export function isAgain(before: ReportedState | undefined, own: ReportedState): boolean {
  return before?.content === own.content && Math.abs(own.receivedAt - before.receivedAt) <= sameWithin
}

/** The time of an event that has none: when it was received, but after the event before it even if the clock was set back. */
export function timeAfter(before: Millis | undefined, receivedAt: Millis): Millis {
  const isSetBack = before !== undefined && before >= receivedAt && before - receivedAt <= sameWithin
  return isSetBack ? before + 1 : receivedAt
}
