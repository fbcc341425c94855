// How many requests it costs to ask about something from time to time: one reckoning for the reference, for `config check` and for tests.
import { hour, type Collector } from './collector.ts'
import type { Millis } from '../../model/instant.ts'

export interface AskedAbout {
  readonly every: Millis
  /** Requests of one round, at least. */
  readonly atLeast: number
  /** What it is looked up as, once a day, however many ask about it; undefined: it is not looked up. */
  readonly owner?: { readonly as: Collector['of']; readonly named: string } | undefined
}

/** Of what was looked up so much time ago it is known no more, ms. */
export const knownFor = 24 * hour

/** Requests an hour, over a day: at least so many, as nobody knows beforehand what is found. */
export function requestsAnHour(asked: readonly AskedAbout[]): number {
  const rounds = asked.reduce((sum, { every, atLeast }) => sum + (atLeast * hour) / every, 0)
  const owners = new Set(
    asked.flatMap(({ owner }) => (owner === undefined ? [] : [`${owner.as === 'groups'} ${owner.named}`])),
  )
  return rounds + (owners.size * hour) / knownFor
}
