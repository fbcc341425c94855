// Use of the platform's API, on the page of sources: its budget, what was found that no webhook had reported, how far the
// poller has come, and how the platform's hooks fare.
import { badge } from './status.ts'
import { card, empty, facts, region, table } from './frame.ts'
import { counted, duration, number, since, utc } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import type { Json } from '../store/ports/notes.ts'
import type { Millis } from '../model/instant.ts'
import type { Flow, Setup } from './ports.ts'

/** Where sources keep what they remember, by the beginning of its name. */
export const hookPrefix = 'redelivery/'
export const documentPrefixes = ['budget/', 'poll', hookPrefix, 'backfill'] as const

/** What a source remembers in the store: cursors, budgets, states of hooks. */
export interface SourceDocument {
  readonly name: string
  readonly value: Json
}

interface ApiClientsView {
  readonly flow: Pick<Flow, 'apiClients'>
  readonly setup: Pick<Setup, 'platform' | 'hasPlatformToken'>
  readonly documents: readonly SourceDocument[]
}

/** Of the wide column. */
export function apiTables(view: ApiClientsView, now: Millis): Content {
  return [region('hooks', hooks(view, now)), region('cursors', cursors(view))]
}

/** Of the narrow column. */
export function apiFacts(view: ApiClientsView, now: Millis): Content {
  return [region('api', card('Platform API', platform(view, now))), region('gaps', gaps(view))]
}

function platform({ setup, documents, flow }: ApiClientsView, now: Millis): Html {
  const budget = fieldsOf(documents.find(({ name }) => name.startsWith('budget/')))
  const { details, poller } = flow.apiClients
  const paused = budget.pausedUntil
  const sweeps = named(documents, 'poll/sweep/').map(
    ({ rest, fields }) => [`All of ${rest}`, sweepWords(fields)] as const,
  )
  const past = named(documents, 'backfill/').map(({ fields }) => ['Backfill', pastWords(fields)] as const)
  return facts([
    ['Address', setup.platform ?? 'named by each delivery'],
    ['Token', setup.hasPlatformToken ? 'configured' : 'none: what webhooks leave out is not asked for'],
    [
      'Budget',
      typeof budget.tokens === 'number' && `${counted(Math.floor(budget.tokens), 'request')} could be sent at once`,
    ],
    ['Paused by the platform', typeof paused === 'number' && paused > now && `for ${duration(paused - now)}`],
    [
      'Details of pipelines',
      details &&
        `${number((details.completed ?? 0) + (details.missed ?? 0))} answered, ${number(details.gone ?? 0)} unknown there, ${number(details.failed ?? 0)} in vain`,
    ],
    [
      'Poller',
      poller && `${counted(poller.rounds ?? 0, 'round')}, ${counted(poller.requests ?? 0, 'request')} for lists`,
    ],
    ...sweeps,
    ...past,
  ])
}

function sweepWords({ done, count, startedAt }: Fields): Content {
  const looked = `${counted(typeof count === 'number' ? count : 0, 'project')} looked at`
  const begun = typeof startedAt === 'number' ? ` since ${utc(startedAt).slice(0, 16)}` : ''
  return done === true ? `${looked}, once a day` : `${looked}${begun}, goes on`
}

function pastWords({ since: from, until }: Fields): Content {
  const day = (at: Json | undefined): string => (typeof at === 'number' ? utc(at).slice(0, 10) : '–')
  return `from ${day(from)} to ${day(until)}, not yet done`
}

/** What webhooks did not report, and was found all the same. */
function gaps({ flow }: ApiClientsView): Content {
  const { details, poller, redelivery } = flow.apiClients
  if (details === undefined && poller === undefined && redelivery === undefined) return ''
  return card(
    'Gaps found and healed',
    facts([
      ['Silent for too long', details && `${counted(details.missed ?? 0, 'pipeline')} that had ended`],
      ['By polling', poller && `${counted(poller.discovered ?? 0, 'pipeline')} of which webhooks had reported less`],
      [
        "In the platform's records",
        redelivery &&
          `${counted(redelivery.found ?? 0, 'failed delivery', 'failed deliveries')}, ${number(redelivery.accepted ?? 0)} of them not known yet`,
      ],
      [
        'Too large for the records',
        (redelivery?.oversize ?? 0) > 0 &&
          `${counted(redelivery?.oversize ?? 0, 'delivery', 'deliveries')}, polled instead`,
      ],
    ]),
    { aside: 'since the start' },
  )
}

const hookStates: Readonly<Record<string, readonly [status: string, word: string]>> = {
  executable: ['open', 'enabled'],
  temporarily_disabled: ['unauthorized', 'switched off for now'],
  disabled: ['unauthorized', 'switched off'],
}

/** By the platform's records of our own hooks: the only place where deliveries that never arrived can be seen. */
function hooks({ documents, flow, setup }: ApiClientsView, now: Millis): Content {
  const known = named(documents, hookPrefix)
  if (!setup.hasPlatformToken) return ''
  if (known.length === 0) {
    const why =
      flow.apiClients.redelivery === undefined
        ? html`The platform's own records of them are looked at where <code>PIPESPAN_REDELIVERY</code> is on.`
        : 'None of the projects and groups that are polled has a hook that leads here.'
    return card("The platform's hooks", empty(why))
  }
  const rows = known.map(({ rest, fields }) => {
    const { owner, state, lastDeliveryAt, answers } = fields
    const [status, word] = hookStates[typeof state === 'string' ? state : ''] ?? ['created', 'not known']
    return [
      badge(status, word),
      hookName(rest, owner),
      typeof lastDeliveryAt === 'number' ? since(lastDeliveryAt, now) : '–',
      answerWords(answers),
    ]
  })
  return card(
    "The platform's hooks",
    table("The platform's hooks", ['State', 'Hook', 'Last delivery seen', 'Deliveries by answer'], rows),
    { aside: 'as the platform records them' },
  )
}

function hookName(document: string, owner: Json | undefined): string {
  return `#${document.split('/').at(-1) ?? ''}${typeof owner === 'string' ? ` of ${owner}` : ''}`
}

/** Hooks that the platform has switched off, by name. */
export function hooksOff(documents: ReadonlyMap<string, Json>): string[] {
  return [...documents].flatMap(([name, value]) => {
    const { owner, state } = objectOf(value)
    return typeof state === 'string' && state !== 'executable' ? [hookName(name, owner)] : []
  })
}

function answerWords(answers: Json | undefined): Content {
  const counts = Object.entries(objectOf(answers)).filter(([, count]) => typeof count === 'number')
  if (counts.length === 0) return '–'
  return counts.map(([answer, count], index) => {
    const text = `${answer}: ${number(count as number)}`
    return [index > 0 && ', ', answer.startsWith('2') ? text : html`<span class="bad-text">${text}</span>`]
  })
}

function cursors({ documents }: ApiClientsView): Content {
  const known = named(documents, 'poll/project/')
  if (known.length === 0) return ''
  const at = (value: Json | undefined): Content =>
    typeof value === 'number' && value > 0 ? html`<span class="whole">${utc(value)}</span>` : '–'
  const rows = known.map(({ rest, fields: { path, seen, childrenSeen, active } }) => [
    typeof path === 'string' ? path : rest,
    at(seen),
    at(childrenSeen),
    html`<span class="figure">${number(Array.isArray(active) ? active.length : 0)}</span>`,
  ])
  return card(
    'Poller cursors',
    table('Poller cursors', ['Project', 'Seen up to', 'Children seen up to', 'Under way'], rows),
    { aside: 'times of the platform' },
  )
}

type Fields = Readonly<Record<string, Json | undefined>>

/** Documents whose names begin so, with the rest of the name: what follows the instance's address. */
function named(
  documents: readonly SourceDocument[],
  prefix: string,
): { readonly rest: string; readonly fields: Fields }[] {
  return documents
    .filter(({ name }) => name.startsWith(prefix))
    .map(document => ({
      rest: document.name.slice(prefix.length).replace(/^https?:\/\/[^/]+\//, ''),
      fields: fieldsOf(document),
    }))
}

function fieldsOf(document: SourceDocument | undefined): Fields {
  return objectOf(document?.value)
}

function objectOf(value: Json | undefined): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}
