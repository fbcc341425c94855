// The page of changes (merge requests): times to merge, to first approval and to first pipeline; the latest changes with their pipelines.
import { askedScope, scopeHeading, scopeQuery } from '../layout/scope-heading.ts'
import { card, empty, type Page, type Reader } from '../layout/frame.ts'
import {
  changeKeys,
  changesOf,
  projectKeys,
  type ChangesShown,
  type ListedChange,
  type ProjectChangeFigures,
} from './change-figures.ts'
import { duration, number, since, utc } from '../layout/format.ts'
import { html, pathText, type Content, type Html } from '../layout/html.ts'
import { sortedTable, type ShownColumn } from '../layout/sorting.ts'
import { spans } from '../layout/trend-spans.ts'
import type { Millis } from '../../model/instant.ts'
import type { PagesSources } from '../ports.ts'

/** Rows of each list. */
const most = 100

export async function changesPage(parts: Pick<PagesSources, 'changes' | 'views'>, reader: Reader): Promise<Page> {
  const asked = { ...askedScope(reader.query), limit: most, sort: reader.query.get('sort') }
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
              ${daysTable(shown, reader)}
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

function projectsTable({ projects, span }: ChangesShown, reader: Reader): Html {
  const of = projectKeys
  const columns: Record<string, ShownColumn<ProjectChangeFigures>> = {
    project: {
      head: 'Project',
      of: of.project,
      cell: ({ project }) =>
        html`<a href="${reader.base}/changes${scopeQuery({ span, project })}">${pathText(project)}</a>`,
    },
    open: { head: 'Open', of: of.open, cell: ({ open }) => figure(number(open)) },
    merged: { head: 'Merged', of: of.merged, cell: ({ merged }) => figure(number(merged)) },
    merge: { head: 'Time to merge', of: of.merge, cell: ({ timeToMerge }) => figure(duration(timeToMerge)) },
    approval: { head: 'To approval', of: of.approval, cell: one => figure(duration(one.timeToApproval)) },
    pipeline: { head: 'To first pipeline', of: of.pipeline, cell: one => figure(duration(one.timeToFirstPipeline)) },
  }
  return sortedTable('Projects', columns, projects, reader)
}

function daysTable({ days }: ChangesShown, reader: Reader): Html {
  const columns: Record<string, ShownColumn<ChangesShown['days'][number]>> = {
    day: { head: 'Day', of: ({ at }) => at, cell: ({ at }) => utc(at).slice(0, 10) },
    merged: { head: 'Merged', of: ({ merged }) => merged, cell: ({ merged }) => figure(number(merged)) },
    merge: {
      head: 'Time to merge',
      of: ({ timeToMerge }) => timeToMerge,
      cell: ({ timeToMerge }) => figure(duration(timeToMerge)),
    },
  }
  return sortedTable('Days', columns, days.toReversed(), reader)
}

function changesTable(shown: ChangesShown, reader: Reader): Html {
  const of = changeKeys
  const columns: Record<string, ShownColumn<ListedChange>> = {
    last: { head: 'Last', of: of.last, cell: ({ at }) => since(at, reader.now) },
    change: { head: 'Change', of: of.change, cell: one => name(one, shown, reader) },
    state: { head: 'State', of: of.state, cell: ({ state }) => stateWords[state] },
    branch: { head: 'Branch', of: of.branch, cell: one => branches(one, reader) },
    first: { head: 'First pipeline', of: of.first, cell: one => pipelineOf(one, reader) },
    approved: { head: 'Approved after', of: of.approved, cell: one => took(of.approved(one)) },
    took: { head: 'Merged after', of: of.took, cell: one => took(of.took(one)) },
  }
  return sortedTable('Latest changes', columns, shown.changes, reader)
}

const stateWords: Readonly<Record<ListedChange['state'], string>> = {
  open: 'open',
  wip: 'draft',
  closed: 'closed',
  merged: 'merged',
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
      html`<br /><span class="dim"
          ><a href="${base}/changes${scopeQuery({ span, project })}">${pathText(project)}</a></span
        >`
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

function took(ms: Millis | undefined): Content {
  return figure(duration(ms))
}

function figure(text: string): Content {
  return html`<span class="figure">${text}</span>`
}
