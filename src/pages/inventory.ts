// The inventory on the page of sources: what was fetched when, what the platform refuses, and why.
import { badge } from './status.ts'
import { card, table } from './frame.ts'
import { html, type Content } from './html.ts'
import { since, utc } from './format.ts'
import type { InventoryState } from '../store/ports/inventory-documents.ts'
import type { Millis } from '../model/instant.ts'
import type { PagesSources } from './ports.ts'

/** One kind of one project or group, or one query. */
export interface InventoryLine {
  /** `agents`, `feature_flags`, …, `query`. */
  readonly kind: string
  /** The project or group, or the name of the query. */
  readonly of: string
  readonly state: 'answered' | 'refused' | 'waiting'
  readonly answeredAt?: Millis | undefined
  readonly nextAt: Millis
  /** Why it is refused, and what would help. */
  readonly message?: string | undefined
}

export async function inventoryLines({ repositories }: Pick<PagesSources, 'repositories'>): Promise<InventoryLine[]> {
  return (await repositories.inventoryStates.all()).map(state => ({
    kind: state.kind,
    of: state.of,
    state: stateOf(state),
    answeredAt: state.answeredAt,
    nextAt: state.nextAt,
    message: state.refusal?.message,
  }))
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
export function inventoryCard(lines: readonly InventoryLine[], now: Millis): Content {
  if (lines.length === 0) return ''
  const order = ['refused', 'waiting', 'answered']
  const rows = lines
    .toSorted((a, b) => order.indexOf(a.state) - order.indexOf(b.state))
    .map(({ kind, of, state, answeredAt, nextAt, message }) => [
      badge(...badges[state]),
      kind.replaceAll('_', ' '),
      of,
      answeredAt === undefined ? '–' : since(answeredAt, now),
      html`<span class="whole">${utc(nextAt)}</span>`,
      message === undefined ? '–' : html`<span class="said">${message}</span>`,
    ])
  const title = 'Inventory'
  return card(title, table(title, ['State', 'What', 'Of', 'Last answer', 'Next', 'Reason and remedy'], rows))
}
