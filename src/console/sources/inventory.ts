// The inventory on the page of sources: what was fetched when, what the platform refuses, and why.
import { z } from 'zod'
import { badge } from '../layout/status.ts'
import { card } from '../layout/frame.ts'
import { html, pathText, type Content } from '../layout/html.ts'
import { said, second } from '../layout/format.ts'
import { ages, sortedTable, texts, type ShownColumn, type TableReader } from '../layout/sorting.ts'
import type { InventoryState } from '../../core/store/ports/inventory-documents.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import type { PagesSources } from '../ports.ts'

/**
 * One kind (`agents`, `feature_flags`, …, `query`) of one project or group, or one query. `message`: why it is refused, and what would help; or how
 * much was left out.
 */
export const inventoryShape = z.object({
  kind: z.string(),
  of: z.string(),
  state: z.enum(['answered', 'refused', 'waiting']),
  answeredAt: millis.optional(),
  nextAt: millis,
  message: z.string().optional(),
})
type InventoryLine = Shaped<typeof inventoryShape>

export async function inventoryLines({ repositories }: Pick<PagesSources, 'repositories'>): Promise<InventoryLine[]> {
  return (await repositories.inventoryStates.all()).map(state => ({
    kind: state.kind,
    of: state.of,
    state: stateOf(state),
    answeredAt: state.answeredAt,
    nextAt: state.nextAt,
    message: state.refusal?.message ?? omittedIn(state),
  }))
}

function omittedIn({ omitted = 0 }: InventoryState): string | undefined {
  return omitted === 0 ? undefined : `${omitted} more than are exported were left out.`
}

function stateOf({ refusal, answeredAt }: InventoryState): InventoryLine['state'] {
  if (refusal !== undefined) return 'refused'
  return answeredAt === undefined ? 'waiting' : 'answered'
}

const badges: Readonly<Record<InventoryLine['state'], readonly [status: string, word: string]>> = {
  answered: ['success', 'answered'],
  refused: ['failed', 'refused'],
  waiting: ['created', 'not fetched yet'],
}

/** Empty without an inventory. Refused ones come first. */
export function inventoryCard(lines: readonly InventoryLine[], reader: TableReader): Content {
  if (lines.length === 0) return ''
  const order = ['refused', 'waiting', 'answered']
  const rank = ({ state }: InventoryLine): number => order.indexOf(state)
  const columns: Record<string, ShownColumn<InventoryLine>> = {
    state: { head: 'State', of: rank, cell: ({ state }) => badge(...badges[state]) },
    kind: texts(
      'What',
      ({ kind }) => kind,
      kind => kind.replaceAll('_', ' '),
    ),
    of: texts('Of', one => one.of, pathText),
    answered: ages('Last answer', ({ answeredAt }) => answeredAt, reader),
    due: {
      head: 'Next',
      of: ({ nextAt }) => nextAt,
      cell: ({ nextAt }) => html`<span class="whole">${second(nextAt)}</span>`,
    },
    // Nothing stands in it as long as nothing is refused.
    ...(lines.some(({ message }) => message !== undefined) && {
      reason: texts('Reason and remedy', ({ message }: InventoryLine) => message, said),
    }),
  }
  const sorted = lines.toSorted((a, b) => rank(a) - rank(b))
  return card('Inventory', sortedTable('Inventory', columns, sorted, reader))
}
