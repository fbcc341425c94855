// The charts of trends: durations, queue times and runs over time, with deployments, and what features mark.
import { html, type Html } from '../../../console/layout/html.ts'
import { knownJobAddress } from '../../../console/pipelines/run-rows.ts'
import { lineChart } from '../../../console/charts/line-chart.ts'
import { number } from '../../../console/layout/format.ts'
import { runsLink } from '../../../console/charts/runs-link.ts'
import { stackedBars } from '../../../console/charts/stacked-bars.ts'
import { trendParts } from './trend-part.ts'
import type { PagesParts } from '../../../console/ports.ts'
import type { ChartMark, ChartMoment } from '../../../console/charts/plot.ts'
import type { RequestContext } from '../../../console/layout/frame.ts'
import type { Timeline } from '../../../console/timeline/timeline-figures.ts'
import type { Trends } from './figures.ts'

/** More would hide the lines. */
const maxMoments = 40

/** `timeline`: that of the project; undefined on the page of all projects or of one job. */
export function trendCharts(
  trends: Trends,
  timeline: Timeline | undefined,
  parts: Pick<PagesParts, 'fillings'>,
  context: RequestContext,
): Html {
  const { points, project, group, own, job, filter, since, until, step } = trends
  const frame = { since, until, step }
  const moments = deploymentsOf(timeline, context)
  // The list of pipelines has no such filter.
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

/** What the runs are: jobs, if they are filtered by runner. */
export function nounOf({ job, filter }: Trends): string {
  if (job !== undefined) return 'Runs'
  return filter.runner === undefined ? 'Pipelines' : 'Jobs'
}

/** Only for one project: there would be too many for all of them. */
function marksOf(trends: Trends, parts: Pick<PagesParts, 'fillings'>, chart: 'durations' | 'failures'): ChartMark[] {
  if (trends.project === undefined) return []
  return trendParts.of(parts).flatMap(({ marks }) => marks(trends, chart))
}

/** Deployments to production, the newest first. */
function deploymentsOf(timeline: Timeline | undefined, { base }: RequestContext): ChartMoment[] {
  return (timeline?.items ?? [])
    .filter(({ kind, isProduction }) => kind === 'deployment' && isProduction === true)
    .slice(0, maxMoments)
    .map(({ at, title, isBad, ...job }) => ({ at, isBad, description: title, href: knownJobAddress(base, job) }))
}
