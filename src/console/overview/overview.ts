// The overview page. It shows notices, the flow of deliveries, the running pipelines, and the most recently finished ones.
import { activeStatuses, activityOf } from './activity.ts'
import { ago, counted, number, percent, since, time, withCode } from '../layout/format.ts'
import { badge } from '../layout/status.ts'
import { card, empty, region, type Page, type RequestContext } from '../layout/frame.ts'
import { destinationsWithheld } from '../access/within-scope.ts'
import { hooksOff } from '../sources/api-clients.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { noticesOf, type Health, type Notice } from './notices.ts'
import type { Overview } from './overview-shape.ts'
import { queueBadge, type ExportQueueStatus } from '../exports/columns.ts'
import { overviewParts } from './overview-shape.ts'
import { runCard, withUsual, type RunCard } from '../pipelines/run-card.ts'
import { runRows } from '../pipelines/run-rows.ts'
import { tryNowForm } from '../exports/exports.ts'
import type { PagesParts } from '../ports.ts'
import { timelineCard } from '../timeline/timeline.ts'
import type { Timeline } from '../timeline/timeline-figures.ts'
import type { StoredRun } from '../../core/store/ports/runs.ts'
import type { Millis } from '../../model/instant.ts'

const shown = { running: 6, silent: 4, finished: 12 }
/**
 * The time in ms without an event after which a running pipeline is listed under “No recent events”. A running pipeline causes an event whenever one
 * of its jobs changes, so such a long silence is unusual.
 */
const silentAfter = 3_600_000
const hour = 3_600_000

/** Reads the overview. `limit` is the maximum number of running pipelines and of finished ones; by default, it is the number that the page shows. */
export async function overviewOf(parts: PagesParts, now: Millis, limit?: number): Promise<Overview> {
  const maxRunning = limit ?? shown.running
  const silentSince = now - silentAfter
  const [quarantined, queues, newest, active, silent, finished, hooks, lastHour, added, ended] = await Promise.all([
    parts.quarantine.count(),
    parts.queues(),
    parts.views.inStatus(activeStatuses, maxRunning + shown.silent),
    parts.views.countInStatus(activeStatuses),
    parts.views.silentInStatus(activeStatuses, silentSince, shown.silent),
    parts.views.lastFinished(limit ?? shown.finished),
    parts.repositories.hooks.all(),
    parts.hour.read(),
    Promise.all(overviewParts.of(parts).map(async one => one.read(parts, now))),
    parts.views.countFinished(now - hour),
  ])
  const running = newest.filter(({ timing }) => timing.changedAt >= silentSince).slice(0, maxRunning)
  const hasRuns = newest.length + finished.length > 0
  const card = (run: StoredRun): RunCard => runCard(run, parts.clock)
  const known = {
    flow: parts.flow(),
    config: parts.configStatus?.(),
    quarantined,
    queues,
    setup: parts.setup(),
    hasRuns,
  }
  const health: Health = { ...known, hooksOff: hooksOff(hooks) }
  // The notices are about the daemon. People who are limited to some projects do not get them, because they cannot fix the daemon.
  const notices = parts.bounds === 'own' ? [] : noticesOf(health, now)
  const [runningNow, silentNow, lastFinished] = await Promise.all([
    withUsual(parts, running.map(card)),
    withUsual(parts, silent.runs.map(card)),
    withUsual(parts, finished.map(card)),
  ])
  return Object.assign(
    {
      ...{ ...health, notices, lastHour, running: runningNow, finished: lastFinished },
      active: Math.max(0, active - silent.count),
      ...{ silent: silentNow, silentCount: silent.count, finishedCount: ended },
    },
    ...added,
  ) as Overview
}

/** Renders the overview. `timeline` covers the last day. */
export function overviewPage(
  overview: Overview,
  timeline: Timeline,
  parts: Pick<PagesParts, 'fillings'>,
  context: RequestContext,
): Page {
  const { running, active, silent, silentCount, finished, notices } = overview
  const { base, now } = context
  return {
    title: 'Overview',
    live: true,
    content: html`
      <h1 class="visually-hidden">Overview</h1>
      ${region('notices', noticeList(notices, base))} ${region('flow', flowPicture(overview, context))}
      <div class="columns">
        <div>
          ${region('running', card('Running now', activityOf(running, context), { aside: active > 0 && html`<a href="${base}/pipelines?status=running">${activeWords(running.length, active, 'newest')}</a>` }))}
          ${region(
            'silent',
            silent.length > 0 &&
              card(
                'No recent events',
                html`<p class="dim">
                    As far as Pipespan knows, these pipelines are running, but they have had no event for an hour or
                    more. They may have ended. With a platform token, Pipespan looks them up.
                  </p>
                  ${activityOf(silent, context)}`,
                { aside: activeWords(silent.length, silentCount, 'longest without events') },
              ),
          )}
          ${overviewParts.of(parts).map(one => region(one.region, one.card(overview, context)))}
          ${region(
            'finished',
            card('Last finished', runRows(finished, context, 'No pipeline has finished yet.'), {
              aside: html`<a href="${base}/pipelines">All pipelines</a>`,
            }),
          )}
        </div>
        <div>
          ${region('destinations', card('Destinations', destinations(overview, context), { aside: html`<span class="buttons">${tryNowForm(overview.queues, context)}</span> <a href="${base}/exports">Exports</a>` }))}
          ${region('sources', card('Sources', sources(overview, now), { aside: html`<a href="${base}/sources">Sources</a>` }))}
          ${region('timeline', timelineCard(timeline, context))}
        </div>
      </div>
    `,
  }
}

function activeWords(shownNow: number, active: number, which: string): Content {
  if (active === 0) return ''
  return active > shownNow ? `the ${which} ${shownNow} of ${counted(active, 'pipeline')}` : counted(active, 'pipeline')
}

function noticeList(notices: readonly Notice[], base: string): Html {
  if (notices.length === 0) return html``
  return html`<ul class="notices" aria-label="What needs attention">
    ${notices.map(
      ({ level, what, remedy, more }) =>
        html`<li class="notice ${level}">
          <p>
            <strong>${what}</strong>
            ${withCode(remedy)}${more !== undefined && html` <a href="${base}${more}">Details</a>`}
          </p>
        </li>`,
    )}
  </ul>`
}

/** Draws the flow of deliveries in four steps, from left to right or from top to bottom. Each step links to the items it counts. */
function flowPicture(
  { flow, lastHour, quarantined, queues, active, silentCount, finishedCount }: Overview,
  { base, now, seesDestinations }: RequestContext,
): Html {
  const pending = queues.reduce((sum, queue) => sum + queue.pending, 0)
  const oldest = queues.flatMap(queue => queue.oldest ?? [])
  const names = [...new Set(queues.map(queue => queue.destination))]
  const troubled = queues.some(queue => queue.state !== 'closed')
  const { received, ignored, refused, delivered } = lastHour
  // The time is shown in whole minutes, because a live page is sent again whenever it changes.
  const minutes = Math.floor((now - lastHour.since) / 60_000)
  const span = minutes >= 59 ? 'in the last hour' : 'since the start'
  const link = (to: string, content: Content): Html => html`<a href="${base}${to}">${content}</a>`
  return html`<ol class="flow" aria-label="The path of a pipeline">
    ${station('Received', link('/sources#webhooks', number(received)), [
      received === 0 ? `${span}: none` : span,
      flow.lastAccepted !== undefined && `last accepted ${ago(flow.lastAccepted, now)}`,
      ignored > 0 && link('/sources#webhooks', `${number(ignored)} not about pipelines`),
      quarantined > 0 &&
        link('/sources#quarantined', html`<span class="bad-text">${number(quarantined)} quarantined</span>`),
      refused > 0 && link('/sources#webhooks', html`<span class="bad-text">${number(refused)} refused</span>`),
    ])}
    ${station('Pipelines', link('/pipelines?status=running', number(active)), [
      'running',
      silentCount > 0 && link('/#silent', html`<span class="bad-text">${number(silentCount)} without events</span>`),
      `${number(finishedCount)} finished in the last hour`,
    ])}
    ${seesDestinations !== false && station('Exports', link('/exports', number(pending)), [pending === 0 ? 'nothing pending' : `pending, oldest ${ago(Math.min(...oldest), now)}`])}
    ${seesDestinations !== false && station(names.length > 1 ? 'Backends' : 'Backend', link('/exports', number(delivered)), [`exports delivered ${span}`, troubled ? link('/exports', html`<span class="bad-text">failing</span>`) : names.join(', ')])}
  </ol>`
}

function station(name: string, figure: Content, description: readonly Content[]): Html {
  return html`<li class="station">
    <span class="station-name">${name}</span><span class="station-figure">${figure}</span>
    ${description.map(text => text !== false && html`<span class="station-says">${text}</span>`)}
  </li>`
}

function destinations({ queues }: Overview, { now, seesDestinations }: RequestContext): Content {
  if (seesDestinations === false) return empty(destinationsWithheld)
  if (queues.length === 0) return empty('Nothing is exported: there is no destination.')
  return html`<ul class="plain-list">
    ${queues.map(queue => queueRow(queue, now))}
  </ul>`
}

function queueRow(queue: ExportQueueStatus, now: Millis): Html {
  const { destination, signal, pending, counters, lastSuccess } = queue
  return pairRow(
    html`<strong>${destination}</strong> ${signal}`,
    lastSuccess === undefined ? 'nothing sent yet' : html`last success ${since(lastSuccess, now)}`,
    html`${queueBadge(queue)}<br /><span class="dim"
        >${number(counters.delivered)} delivered, ${number(pending)} pending</span
      >`,
  )
}

function pairRow(name: Content, about: Content, state: Content): Html {
  return html`<li class="pair">
    <span>${name}<br /><span class="dim">${about}</span></span>
    <span class="right">${state}</span>
  </li>`
}

/**
 * Renders the platform's state. `connected` means that the platform has responded and that its last response was not an error affecting all requests.
 */
function platformBadge({ platformAnswered, platformError }: Overview['flow'], setup: Overview['setup']): Html {
  if (!setup.hasPlatformToken) return badge('created', 'without a token')
  if (platformError !== undefined) return badge('failed', 'failing')
  return platformAnswered ? badge('open', 'connected') : badge('created', 'no response yet')
}

function sources({ flow, setup, config }: Overview, now: Millis): Content {
  return html`<ul class="plain-list">
    ${webhooksRow(flow, now)}
    ${pairRow(html`<strong>Platform API</strong>`, setup.platform ?? 'URL taken from webhooks', platformBadge(flow, setup))}
    ${config !== undefined && pairRow(html`<strong>Configuration</strong>`, html`in use since ${time(config.since, now)}`, html`<code>${config.digest}</code>`)}
  </ul>`
}

function webhooksRow(
  { received, duplicate, ignored, refused, lastAccepted, ...flow }: Overview['flow'],
  now: Millis,
): Html {
  const accepted = flow.accepted + duplicate
  const isRefusing =
    refused.some(({ count }) => count > 0) && accepted === 0 && Object.values(ignored).every(count => count === 0)
  const state = received === 0 ? badge('created', 'listening') : badge('open', 'receiving')
  return pairRow(
    html`<strong>Webhooks</strong>`,
    received === 0 ? 'none since the start' : html`last accepted ${since(lastAccepted, now)}`,
    html`${isRefusing ? badge('failed', 'all refused') : state}<br /><span class="dim"
        >${number(accepted)} accepted${duplicate > 0 && html`, ${percent(duplicate / accepted)} repeated`}</span
      >`,
  )
}
