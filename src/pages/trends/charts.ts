// Charts over time as inline SVG: lines for durations, bars for runs. Tables on the page have the same figures.
import { duration, number, utc, zoned } from '../layout/format.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import type { TrendPoint } from './trend-figures.ts'

const width = 478
const height = 200
const left = 64
const bottom = 24
const top = 10

interface ChartFrame {
  readonly since: number
  readonly until: number
  readonly step: number
}

/** A period to highlight, such as a regression. */
export interface ChartMark {
  readonly at: number
  /** Undefined: it has not ended. */
  readonly until?: number | undefined
  readonly description: string
}

export interface Line {
  readonly name: string
  readonly css: string
  readonly value: (point: TrendPoint) => number | undefined
}

export function lineChart(
  label: string,
  points: readonly TrendPoint[],
  lines: readonly Line[],
  frame: ChartFrame,
  marks: readonly ChartMark[] = [],
): Html {
  const values = points.flatMap(point => lines.flatMap(line => line.value(point) ?? []))
  const most = niceDuration(Math.max(1_000, ...values))
  const y = (value: number): number => top + (1 - value / most) * (height - top - bottom)
  return html`<figure class="chart">
    <figcaption>
      ${label}
      <span class="keys">${lines.map(line => html`<span><i class="swatch ${line.css}"></i>${line.name}</span>`)}</span>
    </figcaption>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
      ${grid(most, duration, y)} ${axis(frame)} ${drawnMarks(marks, frame)}
      ${lines.map(line => {
        const places = points.flatMap(point => {
          const value = line.value(point)
          return value === undefined ? [] : [[middle(point.at, frame), y(value), point, value] as const]
        })
        const path = places
          .map(([px, py], index) => `${index === 0 ? 'M' : 'L'}${px.toFixed(1)} ${py.toFixed(1)}`)
          .join('')
        return html`<g class="line ${line.css}"
          ><path d="${path}" />${places.map(
            ([px, py, point, value]) =>
              html`<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="3"
                ><title>${dayOrHour(point.at, frame)}: ${line.name} ${duration(value)}</title></circle
              >`,
          )}</g
        >`
      })}
    </svg>
  </figure>`
}

/** One bar for the runs of each step, with the failed ones at the bottom. */
export function barChart(
  label: string,
  points: readonly TrendPoint[],
  frame: ChartFrame,
  marks: readonly ChartMark[] = [],
): Html {
  const most = niceCount(Math.max(1, ...points.map(point => point.runs)))
  const room = height - top - bottom
  const wide = Math.max(2, ((width - left) / ((frame.until - frame.since) / frame.step)) * 0.7)
  return html`<figure class="chart">
    <figcaption>
      ${label}
      <span class="keys"
        ><span><i class="swatch good"></i>passed</span><span><i class="swatch bad"></i>failed</span></span
      >
    </figcaption>
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
      ${grid(most, number, value => top + (1 - value / most) * room)} ${axis(frame)} ${drawnMarks(marks, frame)}
      ${points.map(point => {
        const x = (middle(point.at, frame) - wide / 2).toFixed(1)
        const all = (point.runs / most) * room
        const bad = (point.failed / most) * room
        return html`<g
          ><title>${dayOrHour(point.at, frame)}: ${number(point.runs)} runs, ${number(point.failed)} failed</title>
          <rect
            class="bar good"
            x="${x}"
            y="${(height - bottom - all).toFixed(1)}"
            width="${wide.toFixed(1)}"
            height="${(all - bad).toFixed(1)}" />
          <rect
            class="bar bad"
            x="${x}"
            y="${(height - bottom - bad).toFixed(1)}"
            width="${wide.toFixed(1)}"
            height="${bad.toFixed(1)}"
        /></g>`
      })}
    </svg>
  </figure>`
}

/** Each mark as a shaded area from its start to its end, with a line at its start. */
function drawnMarks(marks: readonly ChartMark[], { since, until }: ChartFrame): Content {
  const x = (at: number): number =>
    left + ((Math.min(until, Math.max(since, at)) - since) / (until - since)) * (width - left)
  return marks.map(({ at, until: end = until, description }) => {
    const [from, to] = [x(at), x(end)]
    if (to <= left) return ''
    return html`<g class="mark"
      ><title>${description}</title
      ><rect
        x="${from.toFixed(1)}"
        y="${top}"
        width="${Math.max(1, to - from).toFixed(1)}"
        height="${height - top - bottom}" /><line
        x1="${from.toFixed(1)}"
        x2="${from.toFixed(1)}"
        y1="${top}"
        y2="${height - bottom}"
    /></g>`
  })
}

function grid(most: number, word: (value: number) => string, y: (value: number) => number): Content {
  return [0, 0.25, 0.5, 0.75, 1].map(share => {
    const at = y(most * share).toFixed(1)
    const isWhole = most >= 4 || share % 1 === 0
    return html`<g class="grid"
      ><line
        x1="${left}"
        x2="${width}"
        y1="${at}"
        y2="${at}"
      />${isWhole && html`<text x="${left - 6}" y="${Number(at) + 4}">${share === 0 ? '0' : word(most * share).replace(/(?<=[mh]) 00 [sm]$/, '')}</text>`}</g
    >`
  })
}

function axis(frame: ChartFrame): Content {
  const count = Math.round((frame.until - frame.since) / frame.step)
  const every = Math.ceil(count / 7)
  return Array.from({ length: count }, (_, index) => index)
    .filter(index => index % every === 0)
    .map(index => {
      const at = frame.since + index * frame.step
      return html`<text
        class="axis"
        x="${middle(at, frame).toFixed(1)}"
        y="${height - 6}"
        ${isHourly(frame) && zoned(at, 'hour')}
        >${dayOrHour(at, frame)}</text
      >`
    })
}

function middle(at: number, { since, until, step }: ChartFrame): number {
  return left + ((at + step / 2 - since) / (until - since)) * (width - left)
}

function isHourly({ step }: ChartFrame): boolean {
  return step < 24 * 3_600_000
}

/** Days are those of UTC. */
function dayOrHour(at: number, frame: ChartFrame): string {
  return isHourly(frame) ? utc(at).slice(11, 16) : utc(at).slice(5, 10)
}

const niceMs = [1, 2, 4, 10, 20, 40, 60, 120, 240, 480, 600, 1_200, 2_400, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400]

function niceDuration(ms: number): number {
  const seconds = niceMs.find(one => one * 1_000 >= ms)
  return (seconds ?? Math.ceil(ms / 86_400_000) * 86_400) * 1_000
}

function niceCount(count: number): number {
  const unit = 10 ** Math.floor(Math.log10(count))
  return Math.max(1, ([1, 2, 4, 8, 10].find(one => one * unit >= count) ?? 10) * unit)
}
