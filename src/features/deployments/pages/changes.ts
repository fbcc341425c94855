// The changes page (merge requests): the times to merge, to the first approval and to the first pipeline, and the latest changes with their
// pipelines.
import { askedScope, scopeHeading } from '../../../console/layout/scope-heading.ts'
import { card, empty, howCounted, tiles, type Page, type RequestContext } from '../../../console/layout/frame.ts'
import { after, changeList, changeProjects } from './change-columns.ts'
import { changesOf, maxCounted, type ChangesShown } from './change-figures.ts'
import { duration, minute, number, utc } from '../../../console/layout/format.ts'
import { html, type Html } from '../../../console/layout/html.ts'
import { figures, sortedTable, type ShownColumn } from '../../../console/layout/sorting.ts'
import { chartDays, spans } from '../../../console/layout/trend-spans.ts'
import { lineChart } from '../../../console/charts/line-chart.ts'
import { runsLink } from '../../../console/charts/plot.ts'
import { stackedBars } from '../../../console/charts/stacked-bars.ts'
import type { DeploymentSources } from './sources.ts'

const maxRows = 100

export async function changesPage(
  parts: Pick<DeploymentSources, 'changes' | 'views'>,
  context: RequestContext,
): Promise<Page> {
  const asked = { ...askedScope(context.query), limit: maxRows, sort: context.query.get('sort') }
  const shown = await changesOf(parts, asked, context.now)
  const { projects, changes, span } = shown
  const reader = { ...context, span, project: shown.project }
  return {
    title: 'Changes',
    content: html`${await scopeHeading({ title: 'Changes', path: '/changes' }, asked, parts, context)}
    ${
      projects.length === 0
        ? card('Nothing yet', empty('No changes are known: no merge request event has been received.'))
        : html`${totals(shown)}
          ${shown.backTo !== undefined && html`<p class="dim">Only the newest ${number(maxCounted)} changes are counted, back to ${minute(shown.backTo)}.</p>`}
          ${asked.project === undefined && card(`Projects: the last ${spans[span].name}`, html`${changeProjects.draw('Projects', projects, { ...reader, hasTrain: projects.some(one => one.timeInMergeTrain !== undefined) })} ${shown.projectCount > projects.length && html`<p class="dim">The ${number(projects.length)} of ${number(shown.projectCount)} projects with the most merges.</p>`}`)}
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
              : changeList.draw('Latest changes', changes, {
                  ...reader,
                  hasTrain: changes.some(({ trainAt, mergedAt }) => after(trainAt, mergedAt) !== undefined),
                }),
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

/** Daily charts of merges and of the median time to merge. */
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

function daysTable({ days }: ChangesShown, context: RequestContext): Html {
  const columns: Record<string, ShownColumn<ChangesShown['days'][number]>> = {
    day: { head: 'Day', of: ({ at }) => at, cell: ({ at }) => utc(at).slice(0, 10) },
    merged: figures('Merged', ({ merged }) => merged, number),
    merge: figures('Time to merge', ({ timeToMerge }) => timeToMerge, duration),
  }
  return sortedTable('Days', columns, days.toReversed(), context)
}
