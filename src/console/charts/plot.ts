// What all time charts have in common: size, grid, axis, and event marks. Charts are inline SVG and readable without scripts. A table on the page
// contains the same values. Links in a chart cannot be focused by keyboard, because a chart of a year would have 365 of them.
import { addressWith } from '../layout/address.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { utc, zoned } from '../layout/format.ts'
import type { Millis } from '../../model/instant.ts'
import type { Scope } from '../layout/scope-heading.ts'

/** The period covered by a chart. It is divided into equal steps. */
export interface Frame {
  readonly since: Millis
  readonly until: Millis
  /** The length of a step, ms. */
  readonly step: number
}

/** A period that a chart highlights, such as a regression. */
export interface ChartMark {
  readonly at: Millis
  /** The end of the highlighted period; undefined if it has not ended. */
  readonly until?: Millis | undefined
  readonly description: string
}

/** An event that a chart marks at a point in time, such as a deployment, with a link to it. */
export interface ChartMoment {
  readonly at: Millis
  readonly description: string
  readonly isBad: boolean
  readonly href?: string | undefined
}

export interface PlotOptions {
  /** The chart's width in SVG units. The drawing is stretched to the width of its card. */
  readonly width?: number | undefined
  /** The greatest value on the vertical axis. */
  readonly max: number
  readonly shown: (value: number) => string
  readonly marks?: readonly ChartMark[] | undefined
  readonly moments?: readonly ChartMoment[] | undefined
}

/** An entry of a chart's legend. */
interface Key {
  readonly name: string
  readonly css: string
}

const defaultWidth = 478
const height = 200
const left = 64
const bottom = 24
const top = 10
const day = 24 * 3_600_000

export class Plot {
  readonly #frame: Frame
  readonly #options: PlotOptions
  readonly #width: number

  constructor(frame: Frame, options: PlotOptions) {
    this.#frame = frame
    this.#options = options
    this.#width = options.width ?? defaultWidth
  }

  /** The width of one step of the chart in SVG units. */
  get stepWidth(): number {
    return (this.#width - left) / this.#steps
  }

  /** Returns the x coordinate of the middle of the step that begins at `at`. */
  x(at: Millis): number {
    return this.#place(at + this.#frame.step / 2)
  }

  y(value: number): number {
    return top + (1 - value / this.#options.max) * (height - top - bottom)
  }

  /** Renders the whole chart. `content` is drawn over the grid. */
  draw(label: string, names: readonly Key[], content: Content): Html {
    const { width: own, moments = [] } = this.#options
    return html`<figure class="chart ${own !== undefined && 'wide-chart'}">
      <figcaption>
        ${label}
        <span class="keys"
          >${names.map(({ name, css }) => html`<span><i class="swatch ${css}"></i>${name}</span>`)}</span
        >
      </figcaption>
      <svg viewBox="0 0 ${this.#width} ${height}" role="group" aria-label="${label}">
        ${this.#grid()} ${this.#axis()} ${this.#marks()} ${content} ${moments.map(one => this.#moment(one))}
      </svg>
    </figure>`
  }

  get #steps(): number {
    return Math.round((this.#frame.until - this.#frame.since) / this.#frame.step)
  }

  #place(at: Millis): number {
    const { since, until } = this.#frame
    return left + ((Math.min(until, Math.max(since, at)) - since) / (until - since)) * (this.#width - left)
  }

  #grid(): Content {
    const { max, shown } = this.#options
    return [0, 0.25, 0.5, 0.75, 1].map(share => {
      const at = this.y(max * share).toFixed(1)
      const isWhole = max >= 4 || share % 1 === 0
      return html`<g class="grid" aria-hidden="true"
        ><line x1="${left}" x2="${this.#width}" y1="${at}" y2="${at}" />${
          isWhole &&
          html`<text x="${left - 6}" y="${Number(at) + 4}"
            >${share === 0 ? '0' : shown(max * share).replace(/(?<=[mh]) 00 [sm]$/, '')}</text
          >`
        }</g
      >`
    })
  }

  #axis(): Content {
    const { since, step } = this.#frame
    const every = Math.ceil(this.#steps / (this.#width / 68))
    return Array.from({ length: Math.ceil(this.#steps / every) }, (_, index) => since + index * every * step).map(
      at =>
        html`<text
          class="axis"
          aria-hidden="true"
          x="${this.x(at).toFixed(1)}"
          y="${height - 6}"
          ${step < day && zoned(at, 'hour')}
          >${stepName(at, this.#frame).replace(' UTC', '')}</text
        >`,
    )
  }

  /** Draws each highlighted period as a shaded area, with a line at its start. */
  #marks(): Content {
    return (this.#options.marks ?? []).map(({ at, until = this.#frame.until, description }) => {
      const [from, to] = [this.#place(at), this.#place(until)]
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

  /** Draws an event as a vertical line with a head: a filled triangle for success, a cross for failure. */
  #moment({ at, description, isBad, href }: ChartMoment): Content {
    const x = this.#place(at)
    if (at < this.#frame.since || at > this.#frame.until) return ''
    const head = isBad ? `M${x - 4} ${top - 8}l8 8m0 -8l-8 8` : `M${x.toFixed(1)} ${top}l-4.5 -8h9z`
    const drawn = html`<g class="moment ${isBad ? 'bad' : 'good'}"
      ><title>${utc(at)} UTC: ${description}</title
      ><line x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${top}" y2="${height - bottom}" /><path d="${head}"
    /></g>`
    return linked(href, `${utc(at)} UTC: ${description}`, drawn)
  }
}

export function linked(href: string | undefined, label: string, drawn: Html): Html {
  return href === undefined ? drawn : html`<a href="${href}" tabindex="-1" aria-label="${label}">${drawn}</a>`
}

/** Returns the label of a step: the day or, for steps shorter than a day, the start time, in UTC. */
export function stepName(at: Millis, { step }: Pick<Frame, 'step'>): string {
  return step < day ? `${utc(at).slice(11, 16)} UTC` : utc(at).slice(5, 10)
}

/** Rounds `value` up to 1, 2, 4, 6, 8 or 10 times a power of ten, so that the labels at each quarter of the axis are short. */
export function niceMax(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 4, 6, 8, 10].find(one => one * unit >= value) ?? 10) * unit
}

const niceSeconds = [1, 2, 4, 10, 20, 40, 60, 120, 240, 480, 600, 1_200, 2_400, 3_600, 7_200, 14_400, 28_800, 43_200]

/** Rounds a duration in ms up to one whose quarters have short labels. */
export function niceDuration(ms: number): number {
  const seconds = niceSeconds.find(one => one * 1_000 >= ms)
  return seconds === undefined ? niceMax(ms / 86_400_000) * 86_400_000 : seconds * 1_000
}

const minute = 60_000

interface RunsFilter extends Pick<Scope, 'project' | 'own'> {
  readonly job?: string | undefined
}

/** Returns the address of the pipeline list, filtered to the step that begins at `at`. */
export function runsLink(base: string, at: Millis, { step }: Pick<Frame, 'step'>, filter: RunsFilter = {}): string {
  const { project, own, job } = filter
  const text = (one: Millis): string =>
    utc(one)
      .slice(0, step < day ? 16 : 10)
      .replace(' ', 'T')
  // One minute is subtracted because the filter includes the minute at which it ends.
  const until = text(at + step - minute)
  return addressWith(`${base}/pipelines`, { project, own, job, since: text(at), until })
}
