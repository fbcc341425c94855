// The chart of costs by day, stacked by what the jobs were for: useful work, and each kind of waste.
import { amount, wastedNames } from './cost-tables.ts'
import { day } from '../../store/ports/trends.ts'
import { duration } from '../layout/format.ts'
import { fullWidth, stackedBars } from '../charts/stacked-bars.ts'
import { html, type Html } from '../layout/html.ts'
import { niceDuration, niceMax } from '../charts/plot.ts'
import { runsLink } from '../charts/runs-link.ts'
import { wastedPurposes, type CostLine, type CostSum } from '../../store/ports/costs.ts'
import type { Costs } from './cost-figures.ts'
import type { RequestContext } from '../layout/frame.ts'

/** What each day cost, or took if there are no prices, by what it was for. */
export function costChart({ unit, since, until, days, project, group, own }: Costs, { base }: RequestContext): Html {
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

/** The colours of wasted purposes: none is that of useful work. */
const wasteSeries = [3, 5, 4]
