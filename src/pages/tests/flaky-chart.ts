// The chart of flaky tests by day.
import { day } from '../../store/ports/trends.ts'
import { fullWidth, stackedBars } from '../charts/stacked-bars.ts'
import { html, type Content } from '../layout/html.ts'
import { figure, number, utc } from '../layout/format.ts'
import { runsLink } from '../charts/runs-link.ts'
import { flakyChartTimes, type AskedTests } from './test-figures.ts'
import type { FlakyDay } from '../../store/ports/test-memory.ts'
import { table, type RequestContext } from '../layout/frame.ts'

/** Empty without flaky tests. */
export function flakyChart(days: readonly FlakyDay[], asked: AskedTests, { base, now }: RequestContext): Content {
  if (days.length === 0) return ''
  const frame = { ...flakyChartTimes(asked.span, now), step: day }
  const href = ({ at }: FlakyDay): string => runsLink(base, at, frame, { project: asked.project, own: asked.own })
  return html`<div class="card">
    ${stackedBars({
      ...{ frame, width: fullWidth, label: 'Flaky tests found by day', steps: days, shown: number },
      areas: [
        { name: 'failed, then passed when the job ran again', css: 'series-3', value: ({ retried }) => retried },
        { name: 'repeated within a report', css: 'series-1', value: ({ repeated }) => repeated },
      ],
      href,
    })}
    <details>
      <summary>Show as a table</summary>
      ${table(
        'Flaky tests found by day',
        ['Day', 'Failed, then passed', 'Repeated within a report'],
        days
          .toReversed()
          .map(one => [
            html`<a href="${href(one)}">${utc(one.at).slice(0, 10)}</a>`,
            figure(number(one.retried)),
            figure(number(one.repeated)),
          ]),
      )}
    </details>
  </div>`
}
