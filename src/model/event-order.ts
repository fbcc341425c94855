// Events that carry no time and no version of their own are distinguished by their order of arrival: of one object's deliveries, those that
// stand side by side and say the same are one event, where no more than ten minutes lie between them. A project's hook and a group's hook
// send the same event; a flag that goes on, off and on again is three. Whatever the order in which replicas process deliveries, the same
// events come out. Pure.
import type { Millis } from './instant.ts'

/** What a delivery says of an object's state. */
export interface ToldState {
  readonly content: string
  readonly receivedAt: Millis
}

/** Further apart equal deliveries are two events, ms. */
export const sameWithin = 600_000

/**
 * What a delivery is between its neighbours in the order of arrival. `again`: news of theirs. `event`: one of its own. `between`: one of
 * its own, and what comes behind it, which was taken for a repetition of what is before it, is one too.
 */
export function placeBetween(
  before: ToldState | undefined,
  after: ToldState | undefined,
  own: ToldState,
): 'again' | 'event' | 'between' {
  if (isSame(before, own) || isSame(own, after)) return 'again'
  return isSame(before, after) ? 'between' : 'event'
}

/** When an event happened that does not say it: when it was received, and after what is before it also where the clock was set back. */
export function timeAfter(before: Millis | undefined, receivedAt: Millis): Millis {
  const isSetBack = before !== undefined && before >= receivedAt && before - receivedAt <= sameWithin
  return isSetBack ? before + 1 : receivedAt
}

function isSame(one: ToldState | undefined, other: ToldState | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.content === other.content && Math.abs(other.receivedAt - one.receivedAt) <= sameWithin
}
