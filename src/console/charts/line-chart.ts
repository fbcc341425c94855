// A chart of durations over time. Each line has a point for every step that has a value.
import { duration } from '../layout/format.ts'
import { html, type Html } from '../layout/html.ts'
import { linked, niceDuration, Plot, stepName, type Frame, type PlotOptions } from './plot.ts'
import type { Millis } from '../../model/instant.ts'

interface Line<T> {
  readonly name: string
  readonly css: string
  /** Returns the value of a point, ms; undefined to draw no point. */
  readonly value: (point: T) => number | undefined
}

interface LineChart<T> extends Pick<PlotOptions, 'marks' | 'moments'> {
  readonly label: string
  readonly frame: Frame
  /** The points of the chart in chronological order. `at` is the start of a point's step. */
  readonly points: readonly T[]
  readonly lines: readonly Line<T>[]
  /** Returns the address that a point links to: the list of the point's runs. */
  readonly href?: ((point: T) => string) | undefined
}

export function lineChart<T extends { readonly at: Millis }>(chart: LineChart<T>): Html {
  const { label, frame, points, lines, href, marks, moments } = chart
  const values = points.flatMap(point => lines.flatMap(line => line.value(point) ?? []))
  const plot = new Plot(frame, { max: niceDuration(Math.max(1_000, ...values)), shown: duration, marks, moments })
  const drawn = lines.map(({ name, css, value: of }) => {
    const places = points.flatMap(point => {
      const value = of(point)
      return value === undefined ? [] : [{ x: plot.x(point.at).toFixed(1), y: plot.y(value).toFixed(1), point, value }]
    })
    const path = places.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('')
    return html`<g class="line ${css}"
      ><path d="${path}" />${places.map(({ x, y, point, value }) => {
        const text = `${stepName(point.at, frame)}: ${name} ${duration(value)}`
        return linked(href?.(point), text, html`<circle cx="${x}" cy="${y}" r="3"><title>${text}</title></circle>`)
      })}</g
    >`
  })
  return plot.draw(label, lines, drawn)
}
