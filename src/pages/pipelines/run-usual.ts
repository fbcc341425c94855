// Adds usual durations to a list of pipelines.
import type { PagesParts } from '../ports.ts'
import type { RunCard } from './run-card.ts'
import type { Usual } from './usual.ts'

export interface ListedRun extends RunCard {
  /** Undefined if no run of its project has been counted. */
  readonly usual?: Usual | undefined
}

export async function withUsual(
  { usuals }: Pick<PagesParts, 'usuals'>,
  cards: readonly RunCard[],
): Promise<ListedRun[]> {
  return Promise.all(cards.map(async card => ({ ...card, usual: (await usuals.of(card, [''])).get('') })))
}
