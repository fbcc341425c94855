// Some events have neither a time nor an id, such as that of a feature flag. Which deliveries are the same event is decided by the order of
// arrival: two neighbours with equal content, at most ten minutes apart, are one event (a project's hook and a group's hook both send it). A flag
// that is switched on, off and on again is three. The result is the same in whatever order replicas process the deliveries. Pure.
import type { Millis } from './instant.ts'

/** What a delivery reports of an object's state. */
export interface ReportedState {
  readonly content: string
  readonly receivedAt: Millis
}

/** Equal deliveries that are further apart are two events, ms. */
export const sameWithin = 600_000

/**
 * Classifies a delivery by its neighbours in the order of arrival. `again`: a repetition of one of them. `event`: a new event. `between`:
 * a new event that separates two equal neighbours, so that the later one, until now taken for a repetition, is an event too.
 */
export function placeBetween(
  before: ReportedState | undefined,
  after: ReportedState | undefined,
  own: ReportedState,
): 'again' | 'event' | 'between' {
  if (isSame(before, own) || isSame(own, after)) return 'again'
  return isSame(before, after) ? 'between' : 'event'
}

/** The time of an event that has none: when it was received, but after the event before it even if the clock was set back. */
export function timeAfter(before: Millis | undefined, receivedAt: Millis): Millis {
  const isSetBack = before !== undefined && before >= receivedAt && before - receivedAt <= sameWithin
  return isSetBack ? before + 1 : receivedAt
}

function isSame(one: ReportedState | undefined, other: ReportedState | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.content === other.content && Math.abs(other.receivedAt - one.receivedAt) <= sameWithin
}
