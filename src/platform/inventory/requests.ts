// How many requests an inventory costs, for the reference, `config check` and tests.
import { hour, type Collector } from './collector.ts'
import type { Millis } from '../../model/instant.ts'

export interface AskedAbout {
  readonly every: Millis
  /** Requests of one round, at least. */
  readonly atLeast: number
  /** Its owner, which is looked up once a day, however many things it has; undefined: none. */
  readonly owner?: { readonly as: Collector['of']; readonly named: string } | undefined
}

/** How long an owner is known before it is looked up again, ms. */
export const knownFor = 24 * hour

/** The least number of requests an hour, averaged over a day. What is found may need more. */
export function requestsAnHour(asked: readonly AskedAbout[]): number {
  const rounds = asked.reduce((sum, { every, atLeast }) => sum + (atLeast * hour) / every, 0)
  const owners = new Set(
    asked.flatMap(({ owner }) => (owner === undefined ? [] : [`${owner.as === 'groups'} ${owner.named}`])),
  )
  return rounds + (owners.size * hour) / knownFor
}
