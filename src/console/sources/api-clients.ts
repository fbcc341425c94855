// The section of the sources page about the platform's API: its budget, pipelines found without a webhook, the poller's cursors, and the state of the
// platform's webhooks.
import { z } from 'zod'
import { badge } from '../layout/status.ts'
import { card, empty, facts, region } from '../layout/frame.ts'
import { counted, duration, number, quoted, second, utc } from '../layout/format.ts'
import type { Shaped } from '../layout/shape.ts'
import {
  isInForce,
  refusedEndpoint,
  refusedFor,
  apiBudget,
  ownPipelines,
  polledProject,
  sweep,
  watchedHook,
  type ApiBudget,
} from '../../core/store/ports/discovery-documents.ts'
import { html, pathText, type Content, type Html } from '../layout/html.ts'
import { ages, figures, sortedTable, texts, type ShownColumn, type TableReader } from '../layout/sorting.ts'
import type { Millis } from '../../model/instant.ts'
import type { DiscoveryRepositories } from '../ports.ts'
import type { Flow } from '../overview/flow.ts'
import type { Setup } from './setup-shape.ts'
import type { PagesSources } from '../ports.ts'
import { Slot } from '../../lib/slot.ts'

/** The schema of the stored discovery state. */
export const discoveryShape = z.object({
  polledProjects: z.array(polledProject),
  ownPipelines: z.array(ownPipelines),
  sweeps: z.array(sweep),
  hooks: z.array(watchedHook),
  budgets: z.array(apiBudget),
  refusedEndpoints: z.array(refusedEndpoint),
})
export type DiscoveryView = Shaped<typeof discoveryShape>
type One<Of extends keyof DiscoveryView> = DiscoveryView[Of][number]

export async function discoveryView(stored: DiscoveryRepositories): Promise<DiscoveryView> {
  const [polledProjects, ownPipelines, sweeps, hooks, budgets, refusedEndpoints] = await Promise.all([
    stored.polledProjects.all(),
    stored.ownPipelines.all(),
    stored.sweeps.all(),
    stored.hooks.all(),
    stored.budgets.all(),
    stored.refusedEndpoints.all(),
  ])
  return { polledProjects, ownPipelines, sweeps, hooks, budgets, refusedEndpoints }
}

/** What a feature adds to the sources page: facts about its requests to the platform, and fields with the same values in the JSON API's response. */
export interface SourcePart<Read extends object = object> {
  /** The schema of the data that the feature reads for the sources page. The JSON API adds these fields to `discovery`. */
  readonly fields: z.ZodRawShape
  readonly read: (parts: Pick<PagesSources, 'repositories'>) => Promise<Read>
  /** Returns the facts to show. `clients` are the counters of the platform API clients, by name. */
  readonly facts: (read: Read, clients: Flow['apiClients']) => readonly (readonly [name: string, value: Content])[]
}

export const sourceParts = new Slot<SourcePart>()

/** Checks a feature's section of the sources page at compile time: its facts must be derived from the data that the section reads. */
export function onSources<Read extends object>(part: SourcePart<Read>) {
  return sourceParts.with(part as unknown as SourcePart)
}

interface ApiClientsView {
  readonly flow: Pick<Flow, 'apiClients' | 'platformErrors'>
  readonly setup: Pick<Setup, 'platform' | 'hasPlatformToken' | 'platforms'>
  readonly discovery: DiscoveryView
}

/** Returns the tables for the wide column of the sources page. */
export function apiTables(view: ApiClientsView, reader: TableReader): Content {
  return [
    region('platforms', namedPlatforms(view, reader)),
    region('hooks', hooks(view, reader)),
    region('refused', refused(view, reader)),
    region('cursors', cursors(view, reader)),
  ]
}

type Facts = ReturnType<SourcePart['facts']>

/** Returns the facts for the narrow column of the sources page. `more` are the features' facts. */
export function apiFacts(view: ApiClientsView, now: Millis, more: Facts = []): Content {
  return [region('api', card('Platform API', platform(view, now, more))), region('gaps', gaps(view))]
}

function platform({ setup, discovery, flow }: ApiClientsView, now: Millis, more: Facts): Html {
  const { details, poller } = flow.apiClients
  const isSingle = setup.platforms.length < 2
  const budget = isSingle ? discovery.budgets[0] : undefined
  const paused = budget?.pausedUntil ?? 0
  const sweeps = discovery.sweeps.map(
    one => [`All of ${one.group}${isSingle ? '' : `, ${one.instance}`}`, sweepWords(one)] as const,
  )
  return facts([
    ['Address', isSingle ? (setup.platform ?? 'taken from each delivery') : 'several, see Platforms'],
    ['Token', setup.hasPlatformToken ? 'configured' : 'none: details that webhooks leave out are not fetched'],
    ['Budget', budget && `${counted(Math.floor(budget.tokens), 'request')} available now`],
    ['Paused by the platform', paused > now && `for ${duration(paused - now)}`],
    [
      'Pipeline details',
      details &&
        `${number((details.completed ?? 0) + (details.missed ?? 0))} fetched, ${number(details.gone ?? 0)} not found, ${number(details.failed ?? 0)} failed`,
    ],
    [
      'Poller',
      poller && `${counted(poller.rounds ?? 0, 'round')}, ${counted(poller.requests ?? 0, 'request')} for lists`,
    ],
    ...sweeps,
    ...more,
  ])
}

/** Shows for which job logs, reports and audit events the platform rejects requests, how to fix it, and when the next attempt is due. */
function refused({ discovery }: ApiClientsView, reader: TableReader): Content {
  const { now } = reader
  const inForce = discovery.refusedEndpoints.filter(one => isInForce(one, now))
  if (inForce.length === 0) return ''
  const ofWhom = ({ path: known, project }: One<'refusedEndpoints'>): string =>
    known ?? (project === 0 ? 'all projects' : `project ${project}`)
  const again = ({ since: from = now }: One<'refusedEndpoints'>): Millis => from + refusedFor
  const columns: Record<string, ShownColumn<One<'refusedEndpoints'>>> = {
    owner: texts('Of', ofWhom, pathText),
    endpoint: texts('What', ({ what }) => what),
    remedy: texts('Reason and fix', ({ message }) => message, quoted),
    again: { head: 'Next attempt', of: again, cell: one => second(again(one)) },
  }
  return card('Not offered by the platform', sortedTable('Not offered by the platform', columns, inForce, reader))
}

function sweepWords({ done, count, startedAt }: One<'sweeps'>): Content {
  const looked = `${counted(count, 'project')} scanned`
  return done ? `${looked}, once a day` : `${looked} since ${utc(startedAt).slice(0, 16)}, in progress`
}

/** Shows missed events that were recovered without a webhook. */
function gaps({ flow }: ApiClientsView): Content {
  const { details, poller, redelivery } = flow.apiClients
  if (details === undefined && poller === undefined && redelivery === undefined) return ''
  return card(
    'Missed events recovered',
    facts([
      ['No event for too long', details && `${counted(details.missed ?? 0, 'pipeline')} found finished`],
      ['By polling', poller && `${counted(poller.discovered ?? 0, 'pipeline')} found before a webhook arrived`],
      [
        "In the platform's delivery log",
        redelivery &&
          `${counted(redelivery.found ?? 0, 'failed delivery', 'failed deliveries')}, ${number(redelivery.accepted ?? 0)} of them new`,
      ],
      [
        'Too large for the delivery log',
        (redelivery?.oversize ?? 0) > 0 &&
          `${counted(redelivery?.oversize ?? 0, 'delivery', 'deliveries')}, found by polling instead`,
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

/** Shows the state of our webhooks, based on the platform's delivery log. Only this log shows deliveries that never arrived. */
function hooks({ discovery, flow, setup }: ApiClientsView, reader: TableReader): Content {
  if (!setup.hasPlatformToken) return ''
  if (discovery.hooks.length === 0) {
    const why =
      flow.apiClients.redelivery === undefined
        ? html`Set <code>PIPESPAN_REDELIVERY</code> to find failed deliveries in the platform’s delivery log.`
        : 'None of the polled projects and groups has a webhook that points here.'
    return card('Webhooks on the platform', empty(why))
  }
  const columns: Record<string, ShownColumn<One<'hooks'>>> = {
    enabled: { head: 'State', of: ({ state }) => state, cell: hookState },
    hook: texts('Hook', hookName),
    delivery: ages('Last delivery seen', ({ lastDeliveryAt }) => lastDeliveryAt, reader),
    answers: { head: 'Deliveries by response', cell: answerWords },
  }
  return card('Webhooks on the platform', sortedTable('Webhooks on the platform', columns, discovery.hooks, reader), {
    aside: "from the platform's delivery log",
  })
}

function hookState({ state, disabledUntil }: One<'hooks'>): Content {
  const [status, word] = hookStates[state ?? ''] ?? ['created', 'not known']
  return [
    badge(status, word),
    disabledUntil !== undefined && html` <span class="dim">until ${second(disabledUntil)}</span>`,
  ]
}

function hookName({ kind, id, owner }: One<'hooks'>): string {
  return `#${id} of ${kind} ${owner}`
}

/** Returns the names of the webhooks that the platform has disabled. */
export function hooksOff(hooks: readonly One<'hooks'>[]): string[] {
  return hooks.filter(({ state }) => state !== undefined && state !== 'executable').map(hookName)
}

function answerWords({ answers }: One<'hooks'>): Content {
  const counts = Object.entries(answers)
  if (counts.length === 0) return '–'
  return counts.map(([answer, count], index) => {
    const text = `${answer}: ${number(count)}`
    return [index > 0 && ', ', answer.startsWith('2') ? text : html`<span class="bad-text">${text}</span>`]
  })
}

function cursors({ discovery: { polledProjects } }: ApiClientsView, reader: TableReader): Content {
  if (polledProjects.length === 0) return ''
  const at = (value: Millis): Content => (value > 0 ? html`<span class="whole">${second(value)}</span>` : '–')
  const nameOf = ({ project, path: known }: One<'polledProjects'>): string => known ?? String(project)
  const columns: Record<string, ShownColumn<One<'polledProjects'>>> = {
    polled: texts('Project', nameOf, pathText),
    seen: { head: 'Seen up to', of: ({ seen }) => seen, cell: ({ seen }) => at(seen) },
    children: {
      head: 'Child pipelines seen up to',
      of: ({ childrenSeen }) => childrenSeen,
      cell: ({ childrenSeen }) => at(childrenSeen),
    },
    running: figures('Running', ({ active }) => active.length, number),
  }
  return card('Poller cursors', sortedTable('Poller cursors', columns, polledProjects, reader), {
    aside: 'platform time',
  })
}

// The section of the sources page about several platforms: each token with its projects, its budget, and why its requests fail, if they do.
interface NamedPlatformsView {
  readonly flow: Pick<Flow, 'platformErrors'>
  readonly setup: Pick<Setup, 'platforms'>
  readonly discovery: { readonly budgets: readonly ApiBudget[] }
}

type Named = Setup['platforms'][number]

/** Returns a table of platforms and tokens; empty if there is only one platform with one token. */
function namedPlatforms({ flow, setup, discovery }: NamedPlatformsView, reader: TableReader): Content {
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
