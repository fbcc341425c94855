// The page of sources on several platforms: each token, what it is for, its budget, and why it gets no answers.
import { badge } from '../layout/status.ts'
import { card } from '../layout/frame.ts'
import { duration, number } from '../layout/format.ts'
import { html, pathText, type Content } from '../layout/html.ts'
import { figures, sortedTable, texts, type ShownColumn, type TableReader } from '../layout/sorting.ts'
import type { ApiBudget } from '../../core/store/ports/discovery-documents.ts'
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
  const available = (one: Named): number =>
    one.fingerprint === undefined ? 0 : Math.floor(budgetOf(one)?.tokens ?? one.perMinute / 6)
  const state = (one: Named): Content => {
    if (one.fingerprint === undefined) return badge('created', 'no token')
    const paused = (budgetOf(one)?.pausedUntil ?? 0) - reader.now
    if (errorOf(one) !== undefined) return badge('failed', 'failing')
    return paused > 0 ? badge('unauthorized', `paused for ${duration(paused)}`) : badge('open', 'in use')
  }
  const columns: Record<string, ShownColumn<Named>> = {
    platform: {
      head: 'Platform',
      of: ({ name }) => name,
      cell: ({ name, url }) =>
        html`${pathText(name)}
          <div class="dim">${url}</div>`,
    },
    groups: texts('Groups', ({ groups }) => (groups.length === 0 ? 'all others' : groups.join(', ')), pathText),
    state: { head: 'Token', of: one => errorOf(one)?.what ?? '', cell: state },
    webhook: texts('Webhooks', ({ groups, hasWebhookSecret }) =>
      groups.length > 0 ? '–' : hasWebhookSecret ? 'by its secret' : 'refused: no secret',
    ),
    available: figures('Requests left', available, number),
    budget: figures('A minute', ({ perMinute }) => perMinute, number),
  }
  const reasons = flow.platformErrors.map(({ what, remedy }) => html`<p class="bad-text">${what} ${remedy}</p>`)
  return card('Platforms', [sortedTable('Platforms', columns, setup.platforms, reader), ...reasons], {
    aside: 'one row for each token',
  })
}
