// Draws how many jobs ran at the same time over the last day, stacked by the tags of their runners, as inline SVG. The table on the page has the
// same figures as sums.
import { utc, zoned } from '../layout/format.ts'
import { html, type Html } from '../layout/html.ts'
import type { RunnersView } from './runner-figures.ts'

const width = 960
const height = 200
const left = 40
const bottom = 24
const top = 10
/** Maximum number of sets of tags with an area of their own. */
const maxShown = 5

interface Area {
  readonly name: string
  readonly css: string
  readonly busy: readonly number[]
}

export function busyChart(view: RunnersView): Html {
  const areas = areasOf(view)
  const steps = Math.round((view.until - view.since) / view.stepMs)
  const sums = Array.from({ length: steps }, (_, at) => areas.reduce((sum, { busy }) => sum + (busy[at] ?? 0), 0))
  const most = niceMax(Math.max(1, ...sums))
  const room = height - top - bottom
  const wide = (width - left) / steps
  const y = (value: number): number => height - bottom - (value / most) * room
  const label = 'Jobs that ran at the same time, by tags of the runner'
  return html`<figure class="chart wide-chart">
    <figcaption>
      ${label}
      <span class="keys">${areas.map(({ name, css }) => html`<span><i class="swatch ${css}"></i>${name}</span>`)}</span>
    </figcaption>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
      ${[0, 0.5, 1].map(
        share =>
          html`<g class="grid"
            ><line x1="${left}" x2="${width}" y1="${y(most * share)}" y2="${y(most * share)}" /><text
              x="${left - 6}"
              y="${y(most * share) + 4}"
              >${most * share}</text
            ></g
          >`,
      )}
      ${sums.map((sum, at) => {
        const from = utc(view.since + at * view.stepMs).slice(11, 16)
        let below = 0
        const bars = areas.map(({ css, busy }) => {
          const value = busy[at] ?? 0
          const bar = html`<rect
            class="bar ${css}"
            x="${(left + at * wide + 1).toFixed(1)}"
            y="${y(below + value).toFixed(1)}"
            width="${Math.max(1, wide - 2).toFixed(1)}"
            height="${(y(below) - y(below + value)).toFixed(1)}"
          />`
          below += value
          return value > 0 && bar
        })
        return html`<g
          ><title>
            ${from} UTC: ${sum.toFixed(1)}
            running${areas.map(
              ({ name, busy }) => (busy[at] ?? 0) > 0 && html`, ${name} ${(busy[at] ?? 0).toFixed(1)}`,
            )}</title
          >${bars}</g
        >`
      })}
      ${sums.map((_, at) => {
        if (at % Math.ceil(steps / 8) !== 0) return ''
        const from = view.since + at * view.stepMs
        const x = (left + (at + 0.5) * wide).toFixed(1)
        return html`<text class="axis" x="${x}" y="${height - 6}" ${zoned(from, 'hour')}
          >${utc(from).slice(11, 16)}</text
        >`
      })}
    </svg>
  </figure>`
}

/** The busiest sets of tags, and one area for all others. */
function areasOf({ tagSets }: RunnersView): Area[] {
  const ran = tagSets.filter(({ busy }) => busy.some(value => value > 0))
  const shown = ran.length > maxShown ? ran.slice(0, maxShown - 1) : ran
  const others = ran.slice(shown.length)
  const areas = shown.map(({ tagSet, busy }, index) => ({ name: nameOf(tagSet), css: `series-${index + 1}`, busy }))
  if (others.length === 0) return areas
  const busy = others[0]?.busy.map((_, at) => others.reduce((sum, one) => sum + (one.busy[at] ?? 0), 0)) ?? []
  return [...areas, { name: `${others.length} others`, css: `series-${maxShown}`, busy }]
}

function nameOf(tagSet: string | undefined): string {
  if (tagSet === undefined) return 'unknown tags'
  return tagSet === '' ? 'no tags' : tagSet.replaceAll(',', ', ')
}

/** Even, so that the middle of the axis is a whole number. */
function niceMax(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value))
  return Math.max(2, ([1, 2, 4, 6, 8, 10].find(one => one * unit >= value) ?? 10) * unit)
}
