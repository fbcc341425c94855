// Adds usual durations to a list of pipelines.
import type { PagesParts } from '../ports.ts'
import { runCardShape, type RunCard } from './run-card.ts'
import { usualShape } from './usual.ts'
import type { Shaped } from '../layout/shape.ts'

export const listedRunShape = runCardShape.extend({ usual: usualShape.optional() })
export type ListedRun = Shaped<typeof listedRunShape>

export async function withUsual(
  { usuals }: Pick<PagesParts, 'usuals'>,
  cards: readonly RunCard[],
): Promise<ListedRun[]> {
  return Promise.all(cards.map(async card => ({ ...card, usual: (await usuals.of(card, [''])).get('') })))
}
