// The costs page. It shows job time and its cost by project, job, branch class and runner type, and how much of each was wasted.
import { addressWith, linkedInstance } from '../../../console/layout/address.ts'
import { groupCards } from '../../../console/layout/groups.ts'
import { ofOwn, periodChoice, unknownOwn } from '../../../console/layout/scope-heading.ts'
import { branchNames } from '../../../model/pipeline.ts'
import { amount, costColumns, costLines, costTable, minutes, retainedCard, wastedNames } from './tables.ts'
import { day } from '../counting/figures.ts'
import { fullWidth, stackedBars } from '../../../console/charts/stacked-bars.ts'
import { niceDuration, niceMax } from '../../../console/charts/plot.ts'
import { runsLink } from '../../../console/charts/plot.ts'
import { card, crumbs, empty, howCounted, table, tiles } from '../../../console/layout/frame.ts'
import type { Page, RequestContext } from '../../../console/layout/frame.ts'
import { delta } from '../../../console/layout/delta.ts'
import { html, pathText, type Content, type Html } from '../../../console/layout/html.ts'
import { wastedPurposes } from './rows.ts'
import { duration, figure, number, percent, utc } from '../../../console/layout/format.ts'
import { runnerTypeName } from '../../../model/job.ts'
import { maxCostRows } from './figures.ts'
import type { CostLine, CostSum, Costs } from './shape.ts'
import { spanNames, spans, type Span } from '../../../console/layout/trend-spans.ts'

export function costPage(costs: Costs, context: RequestContext): Page {
  const { base } = context
  const { instance, project, total, span, group, own } = costs
  const instanceOf = linkedInstance([...costs.projects, ...costs.jobs])
  const of = [project?.name ?? group, ofOwn(own, context)].filter(Boolean).join(', ')
  return {
    title: `Cost: ${of || 'All projects'}`,
    content: html`
      ${of !== '' && crumbs(html`<a href="${linkTo(base, span)}">Cost</a>`)}
      <div class="page-head">
        <h1>${of === '' ? 'Cost' : html`Cost of ${of}`}</h1>
        ${periodChoice(
          spanNames.filter(one => one !== '24h'),
          span,
          one =>
            linkTo(base, one, { instance, project: project?.id ?? group, own, isExact: costs.retained !== undefined }),
        )}
      </div>
      ${unknownOwn(context.own)}
      ${
        total === undefined
          ? card('Nothing yet', empty(`No job ran in the last ${spans[span].name}.`))
          : html`${totals(costs, total)} ${wastedCard(costs, total)} ${costChart(costs, context)}
              ${groupCards(
                costs,
                costColumns(costs.unit),
                {
                  group: to => linkTo(base, span, { project: to, own }),
                  value: to => linkTo(base, span, { project: group, own: to }),
                },
                context,
              ).toReversed()}
              ${project === undefined && costTable(costs, 'Projects', costs.projects, context, line => html`<a href="${linkTo(base, span, { instance: instanceOf(line), project: line.projectId })}">${pathText(line.project)}</a>`, maxCostRows.projects)}
              ${costTable(costs, 'Jobs', costs.jobs, context, line => jobCell({ ...line, instance: instanceOf(line) ?? instance }, project === undefined, base), maxCostRows.jobs)}
              ${costTable(costs, 'Branch classes', costs.branches, context, ({ name }) => branchNames[name] ?? name)}
              ${costTable(costs, 'Runner types', costs.workers, context, ({ name }) => workerName(name))}
              ${retainedCard(costs, total, linkTo(base, span, { instance, project: project?.id ?? group, own, isExact: true }), context)}
              <details class="card">
                <summary>Day by day</summary>
                ${costLines(costs, 'Days', costs.days.toReversed(), context, ({ bucket }) => utc(bucket ?? 0).slice(0, 10))}
              </details>`
      }
      ${costs.unit === undefined && html`<p class="dim">No prices are configured. With a price table (<code>costs.rules</code>), this page also shows costs.</p>`}
      ${howCounted('Days are in UTC. Bridges use no runner time. A price change applies to later jobs only.')}
    `,
  }
}

/**
 * Returns the address of the costs page, filtered by project or attribute value. `project` is an ID, or a group path with a trailing slash. `own` is
 * a value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY).
 */
function linkTo(
  base: string,
  span: Span,
  {
    isExact = false,
    ...of
  }: {
    instance?: string | undefined
    project?: number | string | undefined
    own?: string | undefined
    isExact?: boolean
  } = {},
): string {
  return addressWith(`${base}/cost`, { span, ...of, exact: isExact ? 'true' : undefined })
}

/** Returns the name that the costs page shows for a runner type. `type` is empty if the runner type is unknown. */
function workerName(type: string): string {
  return type === '' ? 'unknown' : `${runnerTypeName(type)}s`
}

function totals({ unit, before }: Costs, total: CostLine): Html {
  const wasted = wastedOf(total, unit)
  const exact = { runs: [total.runs, before?.runs ?? 0], isExact: true } as const
  return tiles('This period, compared with the previous one', [
    unit !== undefined && ['Cost', amount(total, unit), delta(total.cost, before?.cost, 'less', exact)],
    ['Job time', minutes(total), delta(total.totalMs, before?.totalMs, 'less', exact)],
    ['Jobs', number(total.runs), delta(total.runs, before?.runs, 'neutral', exact)],
    ['Wasted', percent(wasted), delta(wasted, before && wastedOf(before, unit), 'less', { ...exact, unit: 'points' })],
  ])
}

/** Returns the share of a row's cost that was wasted. */
function wastedOf({ wasted, ...total }: CostLine, unit: string | undefined): number {
  return wastedPurposes.reduce((sum, purpose) => sum + shareOf(wasted[purpose], total, unit), 0)
}

/** Returns the share of a sum in the total: of the cost if prices are configured, otherwise of the time. */
function shareOf(sum: CostSum, total: CostSum, unit: string | undefined): number {
  const [part, all] = unit === undefined ? [sum.totalMs, total.totalMs] : [sum.cost, total.cost]
  return all === 0 ? 0 : part / all
}

function wastedCard({ unit }: Costs, total: CostLine): Html {
  const rows = wastedPurposes.map(purpose => {
    const [name, meaning] = wastedNames[purpose]
    const sum = total.wasted[purpose]
    const share = shareOf(sum, total, unit)
    return [
      html`<strong>${name}</strong><br /><span class="dim">${meaning}</span>`,
      ...(unit === undefined ? [] : [figure(amount(sum, unit))]),
      figure(minutes(sum)),
      figure(percent(share)),
    ]
  })
  const heads = [
    'Type of waste',
    ...(unit === undefined ? [] : ['Cost']),
    'Job time',
    unit === undefined ? 'Share of time' : 'Share of cost',
  ]
  return card('Wasted work', table('Wasted work', heads, rows))
}

function jobCell({ name, instance, project, projectId }: CostLine, isOfAll: boolean, base: string): Content {
  const href = addressWith(`${base}/trends`, { instance, project: projectId, job: name })
  return html`<span class="name"
    ><a href="${href}">${name}</a>${isOfAll && html`<br /><span class="dim">${pathText(project)}</span>`}</span
  >`
}

/** Draws the daily cost by purpose or, without prices, the daily job time. */
function costChart({ unit, since, until, days, project, group, own }: Costs, { base }: RequestContext): Html {
  const frame = { since, until, step: day }
  const valueOf = ({ cost, totalMs }: CostSum): number => (unit === undefined ? totalMs : cost)
  const usefulOf = (line: CostLine): number =>
    Math.max(
      0,
      wastedPurposes.reduce((rest, purpose) => rest - valueOf(line.wasted[purpose]), valueOf(line)),
    )
  return html`<div class="card">
    ${stackedBars({
      ...{ frame, width: fullWidth, label: unit === undefined ? 'Job time by day' : `Cost by day, ${unit}` },
      steps: days.map(line => ({ ...line, at: line.bucket ?? since })),
      areas: [
        { name: 'useful', css: 'series-2', value: usefulOf },
        ...wastedPurposes.map((purpose, index) => ({
          name: wastedNames[purpose][0].toLowerCase(),
          css: `series-${wasteSeries[index] ?? 5}`,
          value: (line: CostLine) => valueOf(line.wasted[purpose]),
        })),
      ],
      ...(unit === undefined
        ? { shown: duration, nice: niceDuration }
        : {
            shown: (cost: number) => amount({ cost, totalMs: 0 }, unit),
            nice: (cost: number) => niceMax(Math.max(0.01, cost)),
          }),
      href: ({ at }) => runsLink(base, at, frame, { project: project?.name ?? group, own }),
    })}
  </div>`
}

/** The chart colours for wasted time. None of them is the colour of useful time. */
const wasteSeries = [3, 5, 4]
