// The inventory on the sources page: when each item was last fetched, which items the platform refuses to return, and why.
import { z } from 'zod'
import { badge } from '../layout/status.ts'
import { card } from '../layout/frame.ts'
import { html, pathText, type Content } from '../layout/html.ts'
import { listOf } from '../layout/list.ts'
import { quoted, second, since, withCode } from '../layout/format.ts'
import type { TableReader } from '../layout/sorting.ts'
import type { InventoryState } from '../../core/store/ports/gauge-documents.ts'
import { millis, type Shaped } from '../layout/shape.ts'
import type { PagesSources } from '../ports.ts'

const states = ['answered', 'refused', 'waiting'] as const
const badges: Readonly<Record<(typeof states)[number], readonly [status: string, word: string]>> = {
  answered: ['success', 'answered'],
  refused: ['failed', 'refused'],
  waiting: ['created', 'not fetched yet'],
}

const order: readonly string[] = ['refused', 'waiting', 'answered']

interface InventoryContext extends TableReader {
  /** Whether the inventory table has a column for the reason why a request was rejected. Without rejected requests, the column would be empty. */
  readonly hasReasons: boolean
}

/** The list of inventory items. An item is one kind of object (`agents`, `feature_flags`, …, `query`) in one project or group, or one query. */
export const inventoryList = listOf<never, InventoryContext>()({
  state: {
    json: z.enum(states),
    title: 'State',
    by: ({ state }) => order.indexOf(state),
    cell: ({ state }) => badge(...badges[state]),
  },
  kind: { json: z.string(), title: 'What', cell: ({ kind }) => kind.replaceAll('_', ' ') },
  of: { json: z.string(), title: 'Of', cell: one => (one.of === '' ? '–' : pathText(one.of)) },
  answeredAt: {
    json: millis.optional(),
    title: 'Last response',
    as: 'answered',
    cell: ({ answeredAt }, { now }) => (answeredAt === undefined ? '–' : since(answeredAt, now)),
  },
  nextAt: {
    json: millis,
    title: 'Next',
    as: 'due',
    cell: ({ nextAt }) => html`<span class="whole">${second(nextAt)}</span>`,
  },
  /** Why the platform rejects requests for the item, and how to fix it; or how much of the response was omitted. */
  message: {
    json: z.string().optional(),
    title: 'Reason and fix',
    as: 'reason',
    isFor: ({ hasReasons }) => hasReasons,
    cell: ({ message }) => (message === undefined ? '–' : quoted(withCode(message))),
  },
})
type InventoryLine = Shaped<typeof inventoryList.shape>

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
  return omitted === 0 ? undefined : `${omitted} points beyond the export limit were left out.`
}

function stateOf({ refusal, answeredAt }: InventoryState): InventoryLine['state'] {
  if (refusal !== undefined) return 'refused'
  return answeredAt === undefined ? 'waiting' : 'answered'
}

/** Returns the inventory card; empty without an inventory. Items whose requests are rejected come first. */
export function inventoryCard(lines: readonly InventoryLine[], reader: TableReader): Content {
  if (lines.length === 0) return ''
  const hasReasons = lines.some(({ message }) => message !== undefined)
  return card(
    'Inventory',
    inventoryList.draw('Inventory', inventoryList.sorted(lines, 'state'), { ...reader, hasReasons }),
  )
}
