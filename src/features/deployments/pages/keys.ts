// The four key metrics of a list of deployments: their figures over a period and over time, the columns that show them, and their charts, which mark
// incidents.
import { z } from 'zod'
import { counted, duration, figure, minute, number, percent, utc } from '../../../console/layout/format.ts'
import { day, spans, type Span } from '../../../console/layout/trend-spans.ts'
import { figures, type ShownColumn } from '../../../console/layout/sorting.ts'
import { html, type Content, type Html } from '../../../console/layout/html.ts'
import { lineChart } from '../../../console/charts/line-chart.ts'
import { median } from '../../../lib/quantile.ts'
import { millis, ms, type Shaped } from '../../../console/layout/shape.ts'
import { runsLink } from '../../../console/charts/plot.ts'
import { stackedBars } from '../../../console/charts/stacked-bars.ts'
import { table, type RequestContext } from '../../../console/layout/frame.ts'
import type { DeploymentFigures } from '../model/deployment-figures.ts'
import type { IsProduction } from '../model/deployment.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Scope } from '../../../console/layout/scope-heading.ts'
import type { ShownDeployment } from '../sql/deployment-reads.ts'
import type { ShownIncident } from '../sql/incidents.ts'

export const keysShape = z.object({
  deployments: z.number().describe('Number of deployments that ended in this period.'),
  failed: z.number(),
  rollbacks: z.number(),
  perDay: z.number().describe('Number of successful deployments per day.'),
  leadTime: ms.optional().describe('Median lead time of the commits, in ms.'),
  failureRate: z.number().optional().describe('Failed deployments and rollbacks, as a share of all deployments.'),
  recovery: ms.optional().describe('Median time to recovery, in ms.'),
})
export type FourKeys = Shaped<typeof keysShape>

/** `days` is the length of the period. */
export function fourKeys(made: readonly ShownDeployment[], days: number): FourKeys {
  const all = made.flatMap(({ figures }) => figures ?? [])
  const failed = all.filter(({ outcome }) => outcome === 'failed').length
  const rollbacks = all.filter(({ isRollback }) => isRollback === true).length
  const failureRate = all.length === 0 ? undefined : (failed + rollbacks) / all.length
  return {
    deployments: all.length,
    failed,
    rollbacks,
    perDay: (all.length - failed) / days,
    failureRate,
    ...timesOf(all),
  }
}

function timesOf(all: readonly DeploymentFigures[]): Pick<FourKeys, 'leadTime' | 'recovery'> {
  return {
    leadTime: median(all.flatMap(({ leadTimes }) => leadTimes ?? [])),
    recovery: median(all.flatMap(({ recovery }) => recovery ?? [])),
  }
}

export function keyColumns<Row extends { readonly keys: FourKeys }>(): Record<string, ShownColumn<Row>> {
  return {
    deployments: figures('Deployments', ({ keys }) => keys.deployments, number),
    day: figures(
      'Per day',
      ({ keys }) => keys.perDay,
      perDay => (perDay >= 10 ? number(Math.round(perDay)) : perDay.toFixed(1)),
    ),
    lead: figures('Lead time', ({ keys }) => keys.leadTime, duration),
    failures: {
      head: 'Failures',
      of: ({ keys }) => keys.failureRate,
      cell: ({ keys: { failureRate, failed, rollbacks } }) =>
        figure(
          failureRate === undefined ? '–' : percent(failureRate),
          `${counted(failed, 'failure')}, ${counted(rollbacks, 'rollback')}`,
        ),
    },
    recovery: figures('Recovery', ({ keys }) => keys.recovery, duration),
  }
}

export const keysOverTimeShape = z.object({
  of: z
    .enum(['production', 'all'])
    .describe('Which deployments are counted: `all` if no deployment of this period was to production.'),
  since: millis,
  until: millis,
  step: ms.describe('Length of a step in ms: a day, or an hour if the period is a day.'),
  steps: z
    .array(
      z.object({
        at: millis,
        succeeded: z.number().describe('Number of successful deployments, without rollbacks.'),
        failed: z.number(),
        rollbacks: z.number(),
        leadTime: ms.optional().describe('Median lead time of the commits, in ms.'),
        recovery: ms.optional().describe('Median time to recovery, in ms.'),
      }),
    )
    .describe('Steps that have at least one deployment, oldest first.'),
  incidents: z
    .array(z.object({ at: millis, project: z.string(), iid: z.number() }))
    .describe('Incidents; `at` is when they were opened.'),
})
export type KeysOverTime = Shaped<typeof keysOverTimeShape>

/** The maximum number of incidents that a chart marks. More marks would hide the bars. */
const maxIncidents = 40

interface Known {
  readonly made: readonly ShownDeployment[]
  /** The incidents that were opened in the period, latest first. */
  readonly opened: readonly ShownIncident[]
  readonly isProduction: IsProduction
}

export function keysOverTime({ made, opened, isProduction }: Known, span: Span, now: Millis): KeysOverTime {
  const { step, length } = spans[span]
  const until = Math.ceil((now + 1) / step) * step
  const counted = made.filter(({ figures }) => figures !== undefined)
  const toProduction = counted.filter(({ view }) => isProduction(view))
  const of = toProduction.length > 0 ? 'production' : 'all'
  const byStep = Map.groupBy(of === 'production' ? toProduction : counted, ({ at }) => Math.floor(at / step) * step)
  const steps = [...byStep].map(([at, own]) => {
    const figures = own.flatMap(one => one.figures ?? [])
    const rollbacks = figures.filter(({ isRollback }) => isRollback === true).length
    const failed = figures.filter(({ outcome, isRollback }) => outcome === 'failed' && isRollback !== true).length
    return { at, succeeded: figures.length - failed - rollbacks, failed, rollbacks, ...timesOf(figures) }
  })
  const incidents = opened.flatMap(({ incident: { project, iid }, view: { openedAt: at } }) =>
    at === undefined ? [] : [{ at, project: project.path ?? String(project.id), iid }],
  )
  return {
    ...{ of, since: until - length, until, step },
    steps: steps.sort((a, b) => a.at - b.at),
    incidents: incidents.slice(0, maxIncidents),
  }
}

/** The charts of the four key metrics; empty if there are no deployments. */
export function keyCharts(
  keys: KeysOverTime,
  { project, own }: Pick<Scope, 'project' | 'own'>,
  { base }: RequestContext,
): Content {
  const { of, steps, incidents, ...frame } = keys
  if (steps.length === 0) return ''
  const to = of === 'production' ? 'Deployments to production' : 'Deployments'
  const href = ({ at }: { readonly at: number }): string => runsLink(base, at, frame, { project, own })
  const moments = incidents.map(one => ({
    ...{ at: one.at, isBad: true, description: `incident ${one.project}#${one.iid} opened` },
  }))
  return html`<div class="charts">
      <div>
        ${stackedBars({
          ...{ frame, steps, href, moments, label: to, shown: number },
          areas: [
            { name: 'failed', css: 'bad', value: ({ failed }) => failed },
            { name: 'rollbacks', css: 'series-3', value: ({ rollbacks }) => rollbacks },
            { name: 'succeeded', css: 'good', value: ({ succeeded }) => succeeded },
          ],
        })}
      </div>
      <div>
        ${lineChart({
          ...{ frame, points: steps, href, moments, label: 'Lead time and recovery, medians' },
          lines: [
            { name: 'lead time', css: 'p50', value: ({ leadTime }) => leadTime },
            { name: 'recovery', css: 'p95', value: ({ recovery }) => recovery },
          ],
        })}
      </div>
    </div>
    ${moments.length > 0 && html`<p class="dim">Crosses mark incidents that were opened.</p>`}
    <details>
      <summary>Show as a table</summary>
      ${stepsTable(keys, href)}
    </details>`
}

function stepsTable({ steps, step }: KeysOverTime, href: (of: { readonly at: number }) => string): Html {
  const heads = ['From', 'Succeeded', 'Failed', 'Rollbacks', 'Lead time', 'Recovery']
  const rows = steps
    .toReversed()
    .map(one => [
      html`<a href="${href(one)}">${step < day ? minute(one.at) : utc(one.at).slice(0, 10)}</a>`,
      figure(number(one.succeeded)),
      figure(number(one.failed)),
      figure(number(one.rollbacks)),
      figure(duration(one.leadTime)),
      figure(duration(one.recovery)),
    ])
  return table('Deployments over time', heads, rows)
}
