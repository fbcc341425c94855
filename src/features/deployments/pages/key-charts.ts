// The charts of the four keys over time, with incidents marked.
import { day } from '../../../console/layout/trend-spans.ts'
import { duration, figure, minute, number, utc } from '../../../console/layout/format.ts'
import { html, type Content, type Html } from '../../../console/layout/html.ts'
import { lineChart } from '../../../console/charts/line-chart.ts'
import { runsLink } from '../../../console/charts/runs-link.ts'
import { stackedBars } from '../../../console/charts/stacked-bars.ts'
import type { KeysOverTime } from './key-days.ts'
import type { Scope } from '../../../console/layout/scope-heading.ts'
import { table, type RequestContext } from '../../../console/layout/frame.ts'

/** Empty without deployments. */
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
