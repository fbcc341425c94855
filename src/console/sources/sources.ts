// The sources page: webhooks, projects, deliveries, platform API usage, the inventory, and quarantined deliveries.
import { z } from 'zod'
import { apiFacts, apiTables, discoveryShape, discoveryView } from './api-clients.ts'
import { counts, millis, type Shaped } from '../layout/shape.ts'
import { flowShape, type Flow } from '../overview/flow.ts'
import { setupShape, type Setup } from './setup-shape.ts'
import { badge } from '../layout/status.ts'
import { card, empty, facts, region, table, type Page, type RequestContext } from '../layout/frame.ts'
import { counted, figure, number, quoted, second, since, size, time } from '../layout/format.ts'
import { foldedCounters } from '../../model/totals.ts'
import { html, pathText, type Content, type Html } from '../layout/html.ts'
import { inventoryCard, inventoryLines, inventoryList } from './inventory.ts'
import { projectName } from '../pipelines/run-card.ts'
import { listOf } from '../layout/list.ts'
import { sourceParts } from './api-clients.ts'
import type { PagesParts } from '../ports.ts'
import type { QuarantinedDelivery } from '../../core/store/ports/quarantine.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'
import type { Millis } from '../../model/instant.ts'

const projectList = listOf()({
  project: { json: z.string(), title: 'Project', cell: ({ project }) => pathText(project) },
  lastObserved: {
    json: millis,
    title: 'Last observed',
    as: 'observed',
    cell: ({ lastObserved }, { now }) => since(lastObserved, now),
  },
  pipelines: { json: z.number(), title: 'Pipelines', cell: ({ pipelines }) => figure(number(pipelines)) },
  /** The number of pipelines that each source reported first. */
  firstBy: { json: counts, title: 'First seen by', as: 'first', by: null, cell: ({ firstBy }) => firstWords(firstBy) },
})

const quarantineList = listOf()({
  id: { json: z.number(), title: 'No.', as: 'number', cell: ({ id }) => html`<span class="mono">${id}</span>` },
  receivedAt: {
    json: millis,
    title: 'Received',
    as: 'received',
    cell: ({ receivedAt }, { now }) => time(receivedAt, now),
  },
  event: { json: z.string(), title: 'Event' },
  instance: { json: z.string().optional(), title: 'Instance' },
  source: { json: z.string<QuarantinedDelivery['source']>() },
  reason: { json: z.string(), title: 'Why', as: 'why', cell: ({ reason }) => quoted(reason) },
  version: { json: z.string() },
  size: { json: z.number().describe('Bytes.'), title: 'Size', cell: one => figure(size(one.size)) },
})

const sourcesShape = z.object({
  flow: flowShape,
  setup: setupShape,
  quarantinedCount: z.number(),
  quarantined: z.array(quarantineList.shape),
  projects: z.array(projectList.shape),
  discovery: discoveryShape,
  inventory: z.array(inventoryList.shape).describe('Inventory items that are polled from the platform.'),
  counters: counts,
})
/** Returns the schema of the sources page, including the fields that features add. */
export function sourcesShapeOf(parts: Pick<PagesParts, 'fillings'>) {
  const fields = Object.assign({}, ...sourceParts.of(parts).map(one => one.fields)) as z.ZodRawShape
  return sourcesShape.extend({ discovery: discoveryShape.extend(fields) })
}

/** The data of the sources page. `projects` are the projects of the newest pipelines; `counters` are the counters that survive restarts. */
type SourcesView = Shaped<typeof sourcesShape>

/** How many of the newest pipelines the sources page counts. */
const maxRuns = 200

export async function sourcesView(parts: PagesParts): Promise<SourcesView> {
  const [quarantinedCount, quarantined, page, counters, discovery, inventory, added] = await Promise.all([
    parts.quarantine.count(),
    parts.quarantine.list?.(20) ?? [],
    parts.views.search({ limit: maxRuns }),
    parts.counters.all(),
    discoveryView(parts.repositories),
    inventoryLines(parts),
    Promise.all(sourceParts.of(parts).map(async one => one.read(parts))),
  ])
  return {
    flow: parts.flow(),
    setup: parts.setup(),
    quarantinedCount,
    quarantined,
    projects: byProject(page.runs),
    discovery: Object.assign(discovery, ...added) as SourcesView['discovery'],
    inventory,
    counters: Object.fromEntries(counters),
  }
}

function byProject(runs: readonly StoredRun[]): SourcesView['projects'] {
  return [...Map.groupBy(runs, ({ run }) => projectName(run.project.facts))]
    .map(([project, some]) => {
      const firstBy: Record<string, number> = {}
      for (const { firstSeenBy } of some) {
        const [first] = Object.entries(firstSeenBy).sort((a, b) => a[1] - b[1])
        if (first !== undefined) firstBy[first[0]] = (firstBy[first[0]] ?? 0) + 1
      }
      return {
        project,
        lastObserved: Math.max(...some.map(({ timing }) => timing.changedAt)),
        pipelines: some.length,
        firstBy,
      }
    })
    .sort((a, b) => b.lastObserved - a.lastObserved)
}

export function sourcesPage(view: SourcesView, parts: Pick<PagesParts, 'fillings'>, context: RequestContext): Page {
  const { now } = context
  const { flow, setup, projects } = view
  const added = sourceParts.of(parts).flatMap(one => one.facts(view.discovery, view.flow.apiClients))
  return {
    title: 'Sources',
    live: true,
    content: html`
      <h1>Sources</h1>
      <div class="columns">
        <div>
          ${region('webhooks', card('Webhooks', webhooks(flow, setup, now), { aside: badge(flow.received === 0 ? 'created' : 'open', flow.received === 0 ? 'listening' : 'receiving') }))}
          ${region(
            'projects',
            card(
              'Projects',
              projects.length === 0
                ? empty('No project has been observed yet.')
                : projectList.draw('Projects by source', projects, context),
              {
                aside:
                  projects.length > 0 &&
                  `over the newest ${counted(
                    projects.reduce((sum, one) => sum + one.pipelines, 0),
                    'pipeline',
                  )}`,
              },
            ),
          )}
          ${apiTables(view, context)}
        </div>
        <div>
          ${region('deliveries', card('Deliveries', deliveryFacts(view)))} ${apiFacts(view, now, added)}
          ${region('totals', card('Totals', counters(view.counters)))}
        </div>
      </div>
      ${region('inventory', inventoryCard(view.inventory, context))}
      ${region('quarantined', card('Deliveries that could not be decoded', quarantinedTable(view, context)))}
    `,
  }
}

function webhooks(flow: Flow, setup: Setup, now: Millis): Html {
  const ignored = Object.entries(flow.ignored).filter(([, count]) => count > 0)
  const rows: Content[][] = [
    ['Accepted', figure(number(flow.accepted)), '202: stored, then acknowledged'],
    ['Duplicates', figure(number(flow.duplicate)), '200: the same delivery again'],
    ...ignored.map(([kind, count]) => [
      `Ignored: ${kind.replaceAll('_', ' ')}`,
      figure(number(count)),
      '200: not about pipelines',
    ]),
    ...flow.refused
      .filter(({ count }) => count > 0)
      .map(({ message, count }) => [html`<span class="bad-text">Refused</span>`, figure(number(count)), message]),
  ]
  return html`${facts([
    ['Address', html`<code class="break">${setup.webhooks}</code>`],
    [
      'Secret',
      setup.hasWebhookSecret
        ? 'required'
        : html`<span class="bad-text">none: anyone who can reach this address can post</span>`,
    ],
    ['Last accepted', since(flow.lastAccepted, now)],
    ['Counted since', second(flow.startedAt)],
  ])}
  ${table('Deliveries by response', ['Outcome', 'Deliveries', 'Response'], rows)}`
}

function firstWords(firstBy: Readonly<Record<string, number>>): string {
  const words = Object.entries(firstBy).map(([source, count]) => `${source}: ${number(count)}`)
  return words.join(', ') || '–'
}

function deliveryFacts({ quarantinedCount, flow }: SourcesView): Html {
  return facts([
    ['Processed', number(flow.processed)],
    ['Excluded projects', number(flow.excluded)],
    ['Not decodable', number(flow.unparseable)],
    ['Quarantined', number(quarantinedCount)],
  ])
}

function counters(all: SourcesView['counters']): Content {
  const known = Object.entries(all)
  if (known.length === 0) return empty('Nothing dropped, pruned or rejected so far.')
  return facts(known.map(([name, count]) => [counterWords(name), number(count)] as const))
}

/** Descriptions of counters whose names are not self-explanatory. All other names are shown with spaces in place of dots and underscores. */
const counterNames: Readonly<Record<string, string>> = {
  [foldedCounters.refs]: 'Metric points merged under ref *',
  [foldedCounters.names]: 'Metric points merged under job name *',
  [foldedCounters.series]: 'Metric points beyond the series limit',
}

function counterWords(name: string): string {
  const pruned = name.startsWith('pruned.') ? `Pruned ${name.slice('pruned.'.length)}` : name
  const words = counterNames[name] ?? pruned.replaceAll(/[._]/g, ' ')
  return words.replace(/ early$/, ', before their retention ended').replace(/^./, first => first.toUpperCase())
}

function quarantinedTable({ quarantined, quarantinedCount }: SourcesView, context: RequestContext): Content {
  if (quarantinedCount === 0) return empty('All deliveries were processed.')
  if (quarantined.length === 0)
    return empty(
      html`They are not listed here, because their projects are unknown. Use <code>pipespan inbox list</code>.`,
    )
  return html`${quarantineList.draw('Quarantined deliveries', quarantined, context)}
    ${quarantinedCount > quarantined.length && html`<p class="dim">The newest ${number(quarantined.length)} of ${number(quarantinedCount)}.</p>`}
    <p class="dim">
      Inspect a delivery with <code>pipespan inbox show</code>. Retry it with <code>pipespan inbox retry</code>.
    </p>`
}
