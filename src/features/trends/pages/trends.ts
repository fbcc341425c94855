// The trends page: durations, queue times and failures of pipelines and jobs over time, compared with the previous period.
import { card, crumbs, empty, howCounted, table, tiles } from '../../../console/layout/frame.ts'
import type { Page, RequestContext } from '../../../console/layout/frame.ts'
import { counted, duration, figure, minute, number, percent, utc } from '../../../console/layout/format.ts'
import { delta } from '../../../console/layout/delta.ts'
import { groupCards } from '../../../console/layout/groups.ts'
import { groupColumns, jobsTable, orderChoice, projectsTable, rateOf } from './tables.ts'
import { hour } from '../counting/figures.ts'
import { html, type Content, type Html } from '../../../console/layout/html.ts'
import { knownJobAddress } from '../../../console/pipelines/run-rows.ts'
import { lineChart } from '../../../console/charts/line-chart.ts'
import { ofOwn, periodChoice, unknownOwn } from '../../../console/layout/scope-heading.ts'
import { runsLink } from '../../../console/charts/plot.ts'
import { maxLines } from './lines.ts'
import { spanNames, spans } from '../../../console/layout/trend-spans.ts'
import { stackedBars } from '../../../console/charts/stacked-bars.ts'
import { timelineCard } from '../../../console/timeline/timeline.ts'
import { trendParts } from './trend-part.ts'
import { trendsForm, trendsLink } from './filters.ts'
import type { ChartMark, ChartMoment } from '../../../console/charts/plot.ts'
import type { PagesParts } from '../../../console/ports.ts'
import type { Timeline } from '../../../console/timeline/timeline-figures.ts'
import type { Trends } from './figures.ts'

/** Renders the trends page. `timeline` is the project's timeline; it is set only on a single project's page. */
export function trendsPage(
  trends: Trends,
  timeline: Timeline | undefined,
  parts: Pick<PagesParts, 'fillings'>,
  context: RequestContext,
): Page {
  const { points, project, group, job, own } = trends
  const { base } = context
  const scope = [project?.name ?? group, ofOwn(own, context)].filter(Boolean).join(', ')
  const of = [scope || 'All projects', job].filter(Boolean).join(', job ')
  const all = trendsLink(base, trends, { instance: undefined, projectId: undefined, job: undefined })
  return {
    title: `Trends: ${of}`,
    content: html`
      ${project === undefined && scope !== '' && crumbs(html`<a href="${base}/trends">Trends</a>`)}
      ${project !== undefined && crumbs(html`<a href="${all}">Trends</a>`, ...(job === undefined ? [] : [html`<a href="${trendsLink(base, trends, { job: undefined })}">${project.name}</a>`]))}
      <div class="page-head">
        <h1>${of}</h1>
        ${periodChoice(spanNames, trends.span, span => trendsLink(base, trends, { span }))}
      </div>
      ${trendsForm(trends, context)} ${unknownOwn(context.own)} ${aboutRetained(trends)}
      ${
        points.length === 0
          ? card(
              'Nothing yet',
              empty(
                `Nothing passed or failed in the last ${spans[trends.span].name}. Figures appear some seconds after a pipeline was exported.`,
              ),
            )
          : html`${totals(trends)} ${trendCharts(trends, timeline, parts, context)}
              <details class="card">
                <summary>Show as a table</summary>
                ${pointsTable(trends)}
              </details>`
      }
      ${timeline !== undefined && timelineCard(timeline, context)}
      ${trendParts.of(parts).map(one => one.card(trends, { instance: trends.instance, projectId: project?.id, group, own }, context))}
      ${job === undefined && card('Jobs', html`${orderChoice(trends, base)} ${jobsTable(trends, base)}`)}
      ${
        project === undefined &&
        groupCards(
          trends,
          groupColumns,
          { group: to => trendsLink(base, trends, { group: to }), value: to => trendsLink(base, trends, { own: to }) },
          context,
        )
      }
      ${
        project === undefined &&
        card('Projects', projectsTable(trends, base), {
          aside: trends.projects.length >= maxLines.projects && `the first ${maxLines.projects}`,
        })
      }
      ${howCounted(
        html`Percentiles are accurate to within 5 %. Canceled and skipped runs are not counted. A job is flaky when it
        failed and then passed when it ran again for the same commit.`,
      )}
    `,
  }
}

function aboutRetained({ retained }: Trends): Content {
  if (retained === undefined) return ''
  const { of, pipelines, backTo } = retained
  const what = of === 'jobs' ? 'Figures of jobs' : 'Figures'
  return html`<p class="dim">
    ${what} for these filters are computed from ${counted(pipelines, 'stored pipeline')} of this period and the previous
    one${backTo !== undefined && html` (only the newest, back to ${minute(backTo)})`}. Pipelines that have been pruned
    are not included.
  </p>`
}

function totals({ total, before, span, ...trends }: Trends): Html {
  const runs = [total.runs, before?.runs ?? 0] as const
  return html`${tiles('This period, compared with the previous one', [
      [nounOf({ total, span, ...trends }), number(total.runs), delta(total.runs, before?.runs, 'neutral', { runs })],
      [
        'Failed',
        percent(rateOf(total)),
        delta(rateOf(total), before && rateOf(before), 'less', { unit: 'points', runs }),
      ],
      ['Median', duration(total.p50), delta(total.p50, before?.p50, 'less', { runs })],
      ['p95', duration(total.p95), delta(total.p95, before?.p95, 'less', { runs })],
      ['Queue, median', duration(total.queueP50), delta(total.queueP50, before?.queueP50, 'less', { runs })],
    ])}
    <p class="dim">
      ${before === undefined ? `There is no comparison with the previous ${spans[span].name}, because not all of that period is stored.` : `Arrows compare with the previous ${spans[span].name}.`}
    </p>`
}

function pointsTable({ points, step }: Trends): Content {
  const rows = points
    .toReversed()
    .map(point => [
      step === hour ? minute(point.at) : utc(point.at).slice(0, 10),
      figure(number(point.runs)),
      figure(point.runs === 0 ? '–' : percent(point.failed / point.runs)),
      figure(duration(point.p50)),
      figure(duration(point.p95)),
      figure(duration(point.queueP50)),
    ])
  return html`<div class="short">
    ${table('Figures over time', ['When', 'Runs', 'Failed', 'Median', 'p95', 'Queue'], rows)}
  </div>`
}

/** The maximum number of moments marked in a chart. More marks would hide the lines. */
const maxMoments = 40

/** Draws the trend charts. `timeline` is the project's timeline; undefined on the page of all projects or of one job. */
export function trendCharts(
  trends: Trends,
  timeline: Timeline | undefined,
  parts: Pick<PagesParts, 'fillings'>,
  context: RequestContext,
): Html {
  const { points, project, group, own, job, filter, since, until, step } = trends
  const frame = { since, until, step }
  const moments = deploymentsOf(timeline, context)
  // If the page is filtered by runner, the charts have no links, because the pipeline list has no such filter.
  const href =
    filter.runner === undefined
      ? ({ at }: { at: number }) => runsLink(context.base, at, frame, { project: project?.name ?? group, own, job })
      : undefined
  const common = { frame, points, href, moments }
  return html`<div class="charts">
      <div class="card">
        ${lineChart({
          ...common,
          label: 'Duration',
          lines: [
            { name: 'median', css: 'p50', value: point => point.p50 },
            { name: '95th percentile', css: 'p95', value: point => point.p95 },
          ],
          marks: marksOf(trends, parts, 'durations'),
        })}
      </div>
      <div class="card">
        ${lineChart({
          ...common,
          label: 'Queue time',
          lines: [{ name: 'median', css: 'queue-line', value: point => point.queueP50 }],
        })}
      </div>
      <div class="card">
        ${stackedBars({
          ...{ frame, href, moments, label: nounOf(trends), steps: points, shown: number },
          areas: [
            { name: 'failed', css: 'bad', value: ({ failed }) => failed },
            { name: 'passed', css: 'good', value: ({ runs, failed }) => runs - failed },
          ],
          marks: marksOf(trends, parts, 'failures'),
        })}
      </div>
    </div>
    ${moments.length > 0 && html`<p class="dim">Triangles mark deployments to production, crosses those that failed${moments.length === maxMoments && '; the newest'}.</p>`}`
}

/** Returns the noun for the counted runs: jobs if trends are filtered by runner. */
export function nounOf({ job, filter }: Trends): string {
  if (job !== undefined) return 'Runs'
  return filter.runner === undefined ? 'Pipelines' : 'Jobs'
}

/** Chart marks are shown for a single project only, because all projects together would have too many. */
function marksOf(trends: Trends, parts: Pick<PagesParts, 'fillings'>, chart: 'durations' | 'failures'): ChartMark[] {
  if (trends.project === undefined) return []
  return trendParts.of(parts).flatMap(({ marks }) => marks(trends, chart))
}

/** Returns the deployments to production, newest first. */
function deploymentsOf(timeline: Timeline | undefined, context: RequestContext): ChartMoment[] {
  return (timeline?.items ?? [])
    .filter(({ kind, isProduction }) => kind === 'deployment' && isProduction === true)
    .slice(0, maxMoments)
    .map(({ at, title, isBad, ...job }) => ({ at, isBad, description: title, href: knownJobAddress(job, context) }))
}
