// The page and the route for audit events. They show the exported events, and up to when each source has been read. They require an admin token,
// because without one every user of this machine could read the events.
import { auditBackfills, auditCursors } from './documents.ts'
import { z } from 'zod'
import { at, type ConsolePart } from '../../console/console-part.ts'
import { atMost, nextPage } from '../../console/api/api-queries.ts'
import { get } from '../../console/api/api-route.ts'
import { notShownPage } from '../../console/access/entrance.ts'
import { perToken, type PartContext } from '../../daemon/feature.ts'
import { card, empty, facts, region, table, type Page, type RequestContext } from '../../console/layout/frame.ts'
import { counted, since, time, second } from '../../console/layout/format.ts'
import { needed, NotShown } from '../../console/layout/not-shown.ts'
import { html, type Content, type Html } from '../../console/layout/html.ts'
import type { AuditOptions } from './options.ts'
import type { AuditCursorPlace } from '../../core/store/ports/views.ts'
import { millis, type Shaped } from '../../console/layout/shape.ts'
import { auditEvents, type RefusedEndpoint } from '../../core/store/ports/discovery-documents.ts'
import type { EventChunk } from '../../model/event.ts'
import type { Millis } from '../../model/instant.ts'
import type { Secret } from '../../lib/secret.ts'
import type { PagesSources } from '../../console/ports.ts'
import type { Flow } from '../../console/overview/flow.ts'
import type { Setup } from '../../console/sources/setup-shape.ts'

const itemShape = z.object({
  at: millis,
  observedAt: millis,
  instance: z.string(),
  body: z.string(),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
})
/** An audit event in the JSON API. Its attributes are named as in docs/EVENTS.md. */
type AuditItem = Shaped<typeof itemShape>

export const auditShape = z.object({
  events: z.array(itemShape),
  next: z.string().optional(),
  sources: z.array(z.object({ source: z.string(), since: millis, upTo: millis, readAt: millis.optional() })),
  backfills: z.array(z.object({ since: millis, until: millis, upTo: millis })),
  problems: z
    .array(z.object({ source: z.string(), what: z.string() }))
    .describe('Why the events of some sources are not read.'),
})
/**
 * The data for the audit page, newest event first. `next`: the value of `after` for the next page. `upTo`: the time up to which events have been
 * read.
 */
export type AuditView = Shaped<typeof auditShape>

const pageSize = 50
/** The format of `next`, which is a position in the list of audit events. */
const auditPlacePattern = /^(\d{1,15})-(\d{1,15})$/

export function auditConsole(options: AuditOptions, context: PartContext): ConsolePart {
  const own = () => ({
    adminToken: context.config.admin.token.current(),
    isRead: perToken(context, options).some(({ audit = [] }) => audit.length > 0),
  })
  return {
    secret: () =>
      own().isRead ? { links: [{ group: 'Pipespan', link: ['/audit', 'Audit'] }], timeline: ['audit'] } : undefined,
    pages: parts => [
      at('/audit', async request => {
        const view = await auditView(parts, own(), request.query.get('after') ?? undefined)
        return view instanceof NotShown ? notShownPage(view) : auditPage(view, own().isRead, request)
      }),
    ],
    routes: parts => [
      get(
        '/audit',
        'Exported audit events, newest first, paginated, and how far they have been read. Requires an admin token to be configured.',
        { query: z.object({ after: nextPage(auditPlacePattern), limit: atMost(200).default(50) }), answer: auditShape },
        async ({ after, limit }) => auditView(parts, own(), after, limit),
      ),
    ],
  }
}

/** Without an admin token, the view contains no events. */
async function auditView(
  { views, repositories, flow, setup, bounds }: PagesSources,
  { adminToken, isRead }: { readonly adminToken: Secret | undefined; readonly isRead: boolean },
  after: string | undefined,
  limit = pageSize,
): Promise<AuditView | NotShown> {
  if (adminToken === undefined) return NotShown.without('Audit events are not shown', [needed.adminToken])
  const [{ events, next }, cursors, backfills, refused] = await Promise.all([
    views.audit(limit, placeOf(after)),
    repositories.of(auditCursors).all(),
    repositories.of(auditBackfills).all(),
    repositories.refusedEndpoints.all(),
  ])
  return {
    events: events.map(itemOf),
    next: next && `${next.at}-${next.id}`,
    sources: cursors.map(({ source, since: from, at, readAt }) => ({ source, since: from, upTo: at, readAt })),
    backfills: backfills.map(({ since: from, until, reading }) => ({
      since: from,
      until,
      upTo: reading?.since ?? from,
    })),
    problems: isRead && bounds !== 'own' ? problemsOf(refused, flow().platformError, setup()) : [],
  }
}

/** Returns the reasons why some or all of the configured sources are not read. */
function problemsOf(
  refused: readonly RefusedEndpoint[],
  platformError: Flow['platformError'],
  { destinations, hasPlatformToken }: Setup,
): AuditView['problems'] {
  const takesLogs = destinations.some(({ endpoints }) => endpoints.some(({ signal }) => signal === 'logs'))
  const whole = [
    !hasPlatformToken && 'There is no token for the platform (PIPESPAN_PLATFORM_TOKEN).',
    !takesLogs &&
      'No destination is configured for log records (PIPESPAN_OBSERVABILITY_EXPORT), so audit events are not read.',
    platformError !== undefined && `${platformError.what} ${platformError.remedy}`,
  ]
  return [
    ...whole.flatMap(what => (what === false ? [] : [{ source: 'all', what }])),
    ...refused
      .filter(({ what }) => what.startsWith(auditEvents))
      .map(({ path = '', message }) => ({ source: path, what: message })),
  ]
}

function itemOf({ at: happenedAt, observedAt, key, event }: EventChunk): AuditItem {
  return { at: happenedAt, observedAt, instance: key.instance, body: event.body, attributes: event.attributes }
}

function placeOf(text: string | undefined): AuditCursorPlace | undefined {
  const [, at, id] = auditPlacePattern.exec(text ?? '') ?? []
  return at === undefined || id === undefined ? undefined : { at: Number(at), id: Number(id) }
}

function auditPage(view: AuditView, isRead: boolean, { base, now, query }: RequestContext): Page {
  const after = query.get('after')
  return {
    title: 'Audit',
    live: after === null,
    content: html`
      <h1>Audit</h1>
      ${region('progress', [problemList(view), progress(view, isRead, now)])}
      <section id="list" data-region>
        ${card(after === null ? 'Newest first' : 'Older', eventTable(view.events, now), { aside: counted(view.events.length, 'event') })}
        <nav class="pager" aria-label="Pages of the list">
          ${after !== null && html`<a class="button" href="${base}/audit">Newest</a>`}
          ${view.next !== undefined && html`<a class="button" rel="next" href="${base}/audit?after=${view.next}">Older</a>`}
        </nav>
      </section>
    `,
  }
}

function problemList({ problems }: AuditView): Content {
  if (problems.length === 0) return ''
  return html`<ul class="notices" aria-label="Why events are missing">
    ${problems.map(
      ({ source, what }) =>
        html`<li class="notice problem">
          <p>${source !== 'all' && html`<strong>${source}</strong>: `}${what}</p>
        </li>`,
    )}
  </ul>`
}

function progress({ sources, backfills }: AuditView, isRead: boolean, now: Millis): Content {
  const read = sources.map(
    ({ source, since: from, upTo, readAt }) =>
      [
        source === 'instance' ? 'The instance' : source,
        html`${second(from)} to ${second(upTo)}, last read ${since(readAt, now)}`,
      ] as const,
  )
  const past = backfills.map(
    one => ['Backfill', html`${second(one.since)} to ${second(one.until)}, read up to ${second(one.upTo)}`] as const,
  )
  if (read.length + past.length === 0 && isRead) return card('Read', empty('No source has been read yet.'))
  if (read.length + past.length === 0) {
    return card(
      'Read',
      empty(
        html`Audit events are not read. Set <code>PIPESPAN_AUDIT</code> to choose the instance, groups or projects to
          read them from.`,
      ),
    )
  }
  return card('Read', facts([...read, ...past]), { aside: 'platform time' })
}

function eventTable(events: readonly AuditItem[], now: Millis): Content {
  if (events.length === 0) return empty('No audit events in the last few days.')
  const rows = events.map(({ at, body, attributes }): Html[] => {
    const of = (key: string): string => String(attributes[key] ?? '')
    const target = [of('platform.audit.target.type'), of('platform.audit.target.details')].filter(word => word !== '')
    return [
      html`${time(at, now)}`,
      html`<strong>${of('user.name') || of('user.id') || '–'}</strong
        >${attributes['client.address'] !== undefined && html` <span class="dim mono">${of('client.address')}</span>`}`,
      html`<span class="said">${body}</span>`,
      html`<span>${of('platform.audit.entity.path') || of('platform.audit.entity.type') || '–'}</span>`,
      html`<span>${target.join(' ') || '–'}</span>`,
      html`<span class="mono">${of('platform.audit.type')}</span>`,
    ]
  })
  return table('Audit events', ['When', 'Who', 'What', 'Of', 'Target', 'Type'], rows)
}
