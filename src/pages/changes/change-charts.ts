// The charts of changes: merges and the median time to merge of each day.
import { day } from '../../store/ports/trends.ts'
import { html, type Html } from '../layout/html.ts'
import { lineChart } from '../charts/line-chart.ts'
import { number } from '../layout/format.ts'
import { runsLink } from '../charts/runs-link.ts'
import { spans } from '../layout/trend-spans.ts'
import { stackedBars } from '../charts/stacked-bars.ts'
import type { ChangesShown } from './change-figures.ts'
import type { RequestContext } from '../layout/frame.ts'

export function changeCharts({ days, span, project, own }: ChangesShown, { base, now }: RequestContext): Html {
  const until = Math.ceil((now + 1) / day) * day
  const frame = { since: until - Math.max(7 * day, spans[span].length), until, step: day }
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
