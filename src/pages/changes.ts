// The page of changes (merge requests): times to merge, to first approval and to first pipeline; the latest changes with their pipelines.
import { askedScope, scopeHeading, scopeQuery } from './scope-heading.ts'
import { card, empty, table, type Page, type Reader } from './frame.ts'
import { changesOf, type ChangesShown, type ListedChange } from './change-figures.ts'
import { duration, number, since, utc } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import { spans } from './trend-spans.ts'
import type { PagesSources } from './ports.ts'

/** Rows of each list. */
const most = 100

export async function changesPage(parts: Pick<PagesSources, 'changes' | 'views'>, reader: Reader): Promise<Page> {
  const asked = { ...askedScope(reader.query), limit: most }
  const shown = await changesOf(parts, asked, reader.now)
  const { projects, changes, span } = shown
  return {
    title: 'Changes',
    content: html`${await scopeHeading('Changes', '/changes', asked, parts, reader)}
    ${
      projects.length === 0
        ? card('Nothing yet', empty('No change is known: no event of a merge request was received.'))
        : html`${tiles(shown)}
          ${asked.project === undefined && card(`Projects: the last ${spans[span].name}`, projectsTable(shown, reader))}
          ${
            shown.days.length > 0 &&
            html`<details class="card">
              <summary>Day by day</summary>
              ${daysTable(shown)}
            </details>`
          }
          ${card(
            'Latest changes',
            changes.length === 0
              ? empty(`Nothing happened in the last ${spans[span].name}.`)
              : changesTable(shown, reader),
          )}`
    }
    ${definitions}`,
  }
}

const definitions = html`<p class="dim">
  A change is a merge request, known from its events and its pipelines. Each time counts from when it was created, and
  is a median: until it was merged; until its first approval, also where that was taken back; until its first merge
  request pipeline was created. The last two are of changes whose opening was reported. Open are those of which an event
  was received. What happened is counted some minutes later; days are those of UTC.
</p>`

function tiles({ total, span }: ChangesShown): Html {
  const tile = (name: string, shown: string): Html =>
    html`<div class="tile">
      <dt>${name}</dt>
      <dd><strong>${shown}</strong></dd>
    </div>`
  return html`<dl class="tiles card" aria-label="The last ${spans[span].name}">
    ${tile('Open now', number(total.open))} ${tile('Merged', number(total.merged))}
    ${tile('Time to merge', duration(total.timeToMerge))} ${tile('To approval', duration(total.timeToApproval))}
    ${tile('To first pipeline', duration(total.timeToFirstPipeline))}
  </dl>`
}

function projectsTable({ projects, span }: ChangesShown, { base }: Reader): Html {
  const rows = projects.map(one => [
    html`<a href="${base}/changes${scopeQuery({ span, project: one.project })}">${one.project}</a>`,
    figure(number(one.open)),
    figure(number(one.merged)),
    figure(duration(one.timeToMerge)),
    figure(duration(one.timeToApproval)),
    figure(duration(one.timeToFirstPipeline)),
  ])
  return table('Projects', ['Project', 'Open', 'Merged', 'Time to merge', 'To approval', 'To first pipeline'], rows)
}

function daysTable({ days }: ChangesShown): Html {
  const rows = days
    .toReversed()
    .map(({ at, merged, timeToMerge }) => [utc(at).slice(0, 10), figure(number(merged)), figure(duration(timeToMerge))])
  return table('Days', ['Day', 'Merged', 'Time to merge'], rows)
}

function changesTable(shown: ChangesShown, reader: Reader): Html {
  const rows = shown.changes.map(one => [
    since(one.at, reader.now),
    name(one, shown, reader),
    one.state,
    branches(one, reader),
    pipelineOf(one, reader),
    took(one, one.approvedAt),
    took(one, one.mergedAt),
  ])
  return table(
    'Latest changes',
    ['Last', 'Change', 'State', 'Branch', 'First pipeline', 'Approved after', 'Merged after'],
    rows,
  )
}

/** A link to its page on the platform, with its project if all projects are shown. */
function name(
  { iid, url, title, project }: ListedChange,
  { span, project: chosen }: ChangesShown,
  { base }: Reader,
): Html {
  return html`<span class="name"
    >${url === undefined ? `!${iid}` : html`<a href="${url}" rel="noreferrer">!${iid}</a>`}
    ${title}${
      chosen === undefined &&
      html`<br /><span class="dim"><a href="${base}/changes${scopeQuery({ span, project })}">${project}</a></span>`
    }</span
  >`
}

/** Links to the pipelines of its source branch. */
function branches({ project, head, base: target }: ListedChange, { base }: Reader): Content {
  if (head === undefined) return target ?? '–'
  const pipelines = `${base}/pipelines?${new URLSearchParams({ project, ref: head }).toString()}`
  return html`<a href="${pipelines}" title="Its pipelines">${head}</a>${target !== undefined && ` → ${target}`}`
}

/** A link to its first pipeline's page. */
function pipelineOf({ createdAt, pipeline }: ListedChange, { base }: Reader): Content {
  if (pipeline === undefined) return '–'
  const { projectId, id } = pipeline
  const after = createdAt === undefined ? undefined : Math.max(0, pipeline.createdAt - createdAt)
  return html`<a href="${base}/pipelines/${projectId}/${id}">#${id}</a
    >${after !== undefined && ` after ${duration(after)}`}`
}

function took({ createdAt }: ListedChange, at: number | undefined): Content {
  return figure(at === undefined || createdAt === undefined ? '–' : duration(Math.max(0, at - createdAt)))
}

function figure(text: string): Content {
  return html`<span class="figure">${text}</span>`
}
