// A bar chart of amounts over time. Each step has one bar, in which the parts of the amount are stacked.
import { html, type Html } from '../layout/html.ts'
import { linked, niceMax, Plot, stepName, type Frame, type PlotOptions } from './plot.ts'
import type { Millis } from '../../model/instant.ts'

interface Area<T> {
  readonly name: string
  readonly css: string
  readonly value: (step: T) => number
}

interface StackedBars<T> extends Pick<PlotOptions, 'width' | 'marks' | 'moments'> {
  readonly label: string
  readonly frame: Frame
  /** The steps of the chart. Steps without an amount may be omitted. `at` is the start of a step. */
  readonly steps: readonly T[]
  /** The parts of each bar, from bottom to top. */
  readonly areas: readonly Area<T>[]
  readonly shown: (value: number) => string
  /** Rounds a value up to the axis maximum. By default, values are rounded up to whole numbers. */
  readonly nice?: (value: number) => number
  /** Returns the address that a bar links to: the list of the bar's runs. */
  readonly href?: ((step: T) => string) | undefined
}

/** The width of a chart that fills its card, in SVG units. */
export const fullWidth = 960

export function stackedBars<T extends { readonly at: Millis }>(chart: StackedBars<T>): Html {
  const { label, frame, steps, areas, shown, href, nice = wholeMax, ...options } = chart
  const sumOf = (step: T): number => areas.reduce((sum, { value }) => sum + value(step), 0)
  const plot = new Plot(frame, { ...options, shown, max: nice(Math.max(0, ...steps.map(sumOf))) })
  const wide = Math.max(2, plot.stepWidth * 0.75)
  const isStack = areas.length > 1
  const bars = steps.map(step => {
    let below = 0
    const parts = areas.map(({ css, value: of }) => {
      const value = of(step)
      const [low, high] = [plot.y(below), plot.y(below + value)]
      below += value
      return (
        value > 0 &&
        html`<rect
          class="bar ${css}"
          x="${(plot.x(step.at) - wide / 2).toFixed(1)}"
          y="${high.toFixed(1)}"
          width="${wide.toFixed(1)}"
          height="${(low - high).toFixed(1)}"
        />`
      )
    })
    if (below === 0) return ''
    const of = areas.flatMap(({ name, value }) => (value(step) > 0 ? [`${name} ${shown(value(step))}`] : []))
    const text = `${stepName(step.at, frame)}: ${shown(below)}${isStack ? ` (${of.join(', ')})` : ''}`
    return linked(href?.(step), text, html`<g><title>${text}</title>${parts}</g>`)
  })
  return plot.draw(label, isStack ? areas : [], bars)
}

function wholeMax(value: number): number {
  return niceMax(Math.max(1, value))
}
