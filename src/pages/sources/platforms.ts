// The page of sources on several platforms: each token, what it is for, its budget, and why it gets no answers.
import { badge } from '../layout/status.ts'
import { card } from '../layout/frame.ts'
import { duration, number } from '../layout/format.ts'
import { html, type Content } from '../layout/html.ts'
import { figures, sortedTable, texts, type ShownColumn, type TableReader } from '../layout/sorting.ts'
import type { ApiBudget } from '../../store/ports/discovery-documents.ts'
import type { Flow } from '../overview/flow.ts'
import type { Setup } from './setup-shape.ts'

interface NamedPlatformsView {
  readonly flow: Pick<Flow, 'platformErrors'>
  readonly setup: Pick<Setup, 'platforms'>
  readonly discovery: { readonly budgets: readonly ApiBudget[] }
}

type Named = Setup['platforms'][number]

/** Nothing if there is one platform with one token. */
export function namedPlatforms({ flow, setup, discovery }: NamedPlatformsView, reader: TableReader): Content {
  if (setup.platforms.length < 2) return ''
  const errorOf = ({ name }: Named) => flow.platformErrors.find(one => one.name === name)
  const budgetOf = ({ fingerprint }: Named) => discovery.budgets.find(({ account }) => account === fingerprint)
  const available = (one: Named): number => Math.floor(budgetOf(one)?.tokens ?? one.perMinute / 6)
  const state = (one: Named): Content => {
    if (one.fingerprint === undefined) return badge('created', 'no token')
    const paused = (budgetOf(one)?.pausedUntil ?? 0) - reader.now
    if (errorOf(one) !== undefined) return badge('failed', 'failing')
    return paused > 0 ? badge('unauthorized', `paused for ${duration(paused)}`) : badge('open', 'in use')
  }
  const columns: Record<string, ShownColumn<Named>> = {
    platform: texts('Platform', ({ name }) => name),
    url: texts('Address', ({ url }) => url),
    groups: texts('Groups', ({ groups }) => (groups.length === 0 ? 'all others' : groups.join(', '))),
    state: { head: 'Token', of: one => errorOf(one)?.what ?? '', cell: one => [state(one), reasonOf(errorOf(one))] },
    webhook: texts('Webhooks', ({ groups, hasWebhookSecret }) =>
      groups.length > 0 ? '–' : hasWebhookSecret ? 'by its secret' : 'refused: no secret',
    ),
    available: figures('Requests available', available, number),
    budget: figures('A minute', ({ perMinute }) => perMinute, number),
  }
  return card('Platforms', sortedTable('Platforms', columns, setup.platforms, reader), {
    aside: 'one row for each token',
  })
}

function reasonOf(error: { readonly what: string; readonly remedy: string } | undefined): Content {
  return error === undefined ? '' : html`<p class="dim">${error.what} ${error.remedy}</p>`
}
