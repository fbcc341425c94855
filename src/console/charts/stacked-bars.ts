// A chart of amounts over time: a bar for each step, stacked by what it consists of.
import { html, type Content, type Html } from '../layout/html.ts'
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
  /** Steps without anything may be left out. `at`: the beginning of the step. */
  readonly steps: readonly T[]
  /** From the bottom. */
  readonly areas: readonly Area<T>[]
  readonly shown: (value: number) => string
  /** The axis ends at such a value. Default: whole numbers. */
  readonly nice?: (value: number) => number
  /** What a bar links to: the runs behind it. */
  readonly href?: ((step: T) => string) | undefined
}

/** The width of a chart that fills its card. */
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
          />${isStack && hatched(hatchOf(label, css), { x: plot.x(step.at) - wide / 2, high, wide, low })}`
      )
    })
    if (below === 0) return ''
    const of = areas.flatMap(({ name, value }) => (value(step) > 0 ? [`${name} ${shown(value(step))}`] : []))
    const text = `${stepName(step.at, frame)}: ${shown(below)}${isStack ? ` (${of.join(', ')})` : ''}`
    return linked(href?.(step), text, html`<g><title>${text}</title>${parts}</g>`)
  })
  if (!isStack) return plot.draw(label, [], bars)
  const patterns = hatches(
    label,
    areas.map(({ css }) => css),
  )
  const keys = areas.map(({ name, css }) => ({ name, css, hatch: hatchOf(label, css) }))
  return plot.draw(label, keys, html`${patterns}${bars}`)
}

/**
 * Patterns over the areas, which tell them apart without colour: lines through a tile of 6 × 6 units. Each class of areas always has the same
 * pattern; what is good or usual has none.
 */
const hatchLines: Readonly<Record<string, string>> = {
  bad: 'M-1 1l2 -2M0 6l6 -6M5 7l2 -2',
  'series-1': 'M-1 5l2 2M0 0l6 6M5 -1l2 2',
  'series-3': 'M0 3h6',
  'series-4': 'M3 0v6',
  'series-5': 'M0 3h6M3 0v6',
}

/** The patterns of these classes; `chart`: its label, unique on the page. */
function hatches(chart: string, classes: readonly string[]): Html {
  return html`<defs>
    ${classes.map(
      css =>
        hatchLines[css] !== undefined &&
        html`<pattern id="${hatchId(chart, css)}" width="6" height="6" patternUnits="userSpaceOnUse"
          ><path class="hatch" d="${hatchLines[css]}"
        /></pattern>`,
    )}
  </defs>`
}

/** The attribute that draws the pattern of a class; empty without a pattern. */
function hatchOf(chart: string, css: string): string {
  return hatchLines[css] === undefined ? '' : `url(#${hatchId(chart, css)})`
}

function hatchId(chart: string, css: string): string {
  return `hatch-${chart.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-${css}`
}

/** The pattern over a bar. */
function hatched(fill: string, { x, high, wide, low }: Record<'x' | 'high' | 'wide' | 'low', number>): Content {
  if (fill === '') return ''
  const d = `M${x.toFixed(1)} ${high.toFixed(1)}h${wide.toFixed(1)}V${low.toFixed(1)}h-${wide.toFixed(1)}z`
  return html`<path d="${d}" fill="${fill}" />`
}

function wholeMax(value: number): number {
  return niceMax(Math.max(1, value))
}
