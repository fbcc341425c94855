// The page of changes (merge requests): times to merge, to first approval and to first pipeline; the latest changes with their pipelines.
import { addressWith } from '../../../console/layout/address.ts'
import { askedScope, scopeAddress, scopeHeading } from '../../../console/layout/scope-heading.ts'
import { card, empty, howCounted, tiles, type Page, type RequestContext } from '../../../console/layout/frame.ts'
import {
  changeKeys,
  changesOf,
  projectKeys,
  type ChangesShown,
  type ListedChange,
  type ProjectChangeFigures,
} from './change-figures.ts'
import { duration, number, utc } from '../../../console/layout/format.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { ages, figures, sortedTable, texts, type ShownColumn } from '../../../console/layout/sorting.ts'
import { chartDays, spans } from '../../../console/layout/trend-spans.ts'
import { lineChart } from '../../../console/charts/line-chart.ts'
import { runsLink } from '../../../console/charts/runs-link.ts'
import { stackedBars } from '../../../console/charts/stacked-bars.ts'
import type { DeploymentSources } from './sources.ts'

/** Rows of each list. */
const maxRows = 100

export async function changesPage(
  parts: Pick<DeploymentSources, 'changes' | 'views'>,
  context: RequestContext,
): Promise<Page> {
  const asked = { ...askedScope(context.query), limit: maxRows, sort: context.query.get('sort') }
  const shown = await changesOf(parts, asked, context.now)
  const { projects, changes, span } = shown
  return {
    title: 'Changes',
    content: html`${await scopeHeading({ title: 'Changes', path: '/changes' }, asked, parts, context)}
    ${
      projects.length === 0
        ? card('Nothing yet', empty('No change is known: no event of a merge request was received.'))
        : html`${totals(shown)}
          ${asked.project === undefined && card(`Projects: the last ${spans[span].name}`, projectsTable(shown, context))}
          ${
            shown.days.length > 0 &&
            html`${changeCharts(shown, context)}
              <details class="card">
                <summary>Day by day</summary>
                ${daysTable(shown, context)}
              </details>`
          }
          ${card(
            'Latest changes',
            changes.length === 0
              ? empty(`Nothing happened in the last ${spans[span].name}.`)
              : changesTable(shown, context),
          )}`
    }
    ${definitions}`,
  }
}

const definitions = howCounted(
  html`A change is a merge request, known from its events and its pipelines. Times are medians, measured from the
  creation of the merge request: to its merge, to its first approval, and to its first pipeline. The time in the merge
  train is from its first pipeline there to the merge. Revoked approvals count. Approval and first-pipeline times need
  the “opened” event. “Open” counts merge requests with at least one event. Everything is counted some minutes later, by
  UTC day.`,
)

function totals({ total, span }: ChangesShown): Html {
  return tiles(`The last ${spans[span].name}`, [
    ['Open now', number(total.open)],
    ['Merged', number(total.merged)],
    ['Time to merge', duration(total.timeToMerge)],
    ['To approval', duration(total.timeToApproval)],
    ['To first pipeline', duration(total.timeToFirstPipeline)],
    total.timeInMergeTrain !== undefined && ['In merge train', duration(total.timeInMergeTrain)],
  ])
}

/** Merges and the median time to merge of each day. */
function changeCharts({ days, span, project, own }: ChangesShown, { base, now }: RequestContext): Html {
  const frame = chartDays(span, now)
  const href = ({ at }: { readonly at: number }): string => runsLink(base, at, frame, { project, own })
  return html`<div class="charts">
    <div class="card">
      ${stackedBars({
        ...{ frame, href, label: 'Merged by day', steps: days, shown: number },
        areas: [{ name: 'merged', css: 'series-1', value: ({ merged }) => merged }],
      })}
    </div>
    <div class="card">
      ${lineChart({
        ...{ frame, href, label: 'Time to merge', points: days },
        lines: [{ name: 'median', css: 'p50', value: ({ timeToMerge }) => timeToMerge }],
      })}
    </div>
  </div>`
}

function projectsTable({ projects, span }: ChangesShown, context: RequestContext): Html {
  const of = projectKeys
  const columns: Record<string, ShownColumn<ProjectChangeFigures>> = {
    project: texts('Project', of.project, project => projectLink(project, span, context)),
    open: figures('Open', of.open, number),
    merged: figures('Merged', of.merged, number),
    merge: figures('Time to merge', of.merge, duration),
    approval: figures('To approval', of.approval, duration),
    pipeline: figures('To first pipeline', of.pipeline, duration),
    ...(projects.some(one => of.train(one) !== undefined) && { train: figures('In merge train', of.train, duration) }),
  }
  return sortedTable('Projects', columns, projects, context)
}

function daysTable({ days }: ChangesShown, context: RequestContext): Html {
  const columns: Record<string, ShownColumn<ChangesShown['days'][number]>> = {
    day: { head: 'Day', of: ({ at }) => at, cell: ({ at }) => utc(at).slice(0, 10) },
    merged: figures('Merged', ({ merged }) => merged, number),
    merge: figures('Time to merge', ({ timeToMerge }) => timeToMerge, duration),
  }
  return sortedTable('Days', columns, days.toReversed(), context)
}

function changesTable(shown: ChangesShown, context: RequestContext): Html {
  const of = changeKeys
  const columns: Record<string, ShownColumn<ListedChange>> = {
    last: ages('Last', of.last, context),
    change: { head: 'Change', of: of.change, cell: one => name(one, shown, context) },
    state: { head: 'State', of: of.state, cell: ({ state }) => stateWords[state] },
    branch: { head: 'Branch', of: of.branch, cell: one => branches(one, context) },
    first: { head: 'First pipeline', of: of.first, cell: one => pipelineOf(one, context) },
    approved: figures('Approved after', of.approved, duration),
    took: figures('Merged after', of.took, duration),
    ...(shown.changes.some(one => of.train(one) !== undefined) && {
      train: figures('In merge train', of.train, duration),
    }),
  }
  return sortedTable('Latest changes', columns, shown.changes, context)
}

const stateWords: Readonly<Record<ListedChange['state'], string>> = {
  open: 'open',
  wip: 'draft',
  closed: 'closed',
  merged: 'merged',
}

function projectLink(project: string, span: ChangesShown['span'], { base }: RequestContext): Html {
  return html`<a href="${scopeAddress(`${base}/changes`, { span, project })}">${pathText(project)}</a>`
}

/** A link to its page on the platform, with its project if all projects are shown. */
function name(
  { iid, url, title, project }: ListedChange,
  { span, project: chosen }: ChangesShown,
  context: RequestContext,
): Html {
  return html`<span class="name"
    >${url === undefined ? `!${iid}` : html`<a href="${url}" rel="noreferrer">!${iid}</a>`}
    ${title}${chosen === undefined && html`<br /><span class="dim">${projectLink(project, span, context)}</span>`}</span
  >`
}

/** Links to the pipelines of its source branch. */
function branches({ project, head, base: target }: ListedChange, { base }: RequestContext): Content {
  if (head === undefined) return target ?? '–'
  const pipelines = addressWith(`${base}/pipelines`, { project, ref: head })
  return html`<a href="${pipelines}" title="Its pipelines">${head}</a>${target !== undefined && ` → ${target}`}`
}

/** A link to its first pipeline's page. */
function pipelineOf({ createdAt, pipeline }: ListedChange, { base }: RequestContext): Content {
  if (pipeline === undefined) return '–'
  const { projectId, id } = pipeline
  const after = createdAt === undefined ? undefined : Math.max(0, pipeline.createdAt - createdAt)
  return html`<a href="${base}/pipelines/${projectId}/${id}">#${id}</a
    >${after !== undefined && ` after ${duration(after)}`}`
}
