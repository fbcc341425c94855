// Patterns over the areas of a stack, which tell them apart without colour. Each class of areas always has the same pattern; what is good or usual
// has none.
import { html, type Html } from '../layout/html.ts'

/** Lines through a tile of 6 × 6 units. */
const tiles: Readonly<Record<string, string>> = {
  bad: 'M-1 1l2 -2M0 6l6 -6M5 7l2 -2',
  'series-1': 'M-1 5l2 2M0 0l6 6M5 -1l2 2',
  'series-3': 'M0 3h6',
  'series-4': 'M3 0v6',
  'series-5': 'M0 3h6M3 0v6',
}

/** The patterns of these classes; `chart`: its label, unique on the page. */
export function hatches(chart: string, classes: readonly string[]): Html {
  return html`<defs>
    ${classes.map(
      css =>
        tiles[css] !== undefined &&
        html`<pattern id="${idOf(chart, css)}" width="6" height="6" patternUnits="userSpaceOnUse"
          ><path class="hatch" d="${tiles[css]}"
        /></pattern>`,
    )}
  </defs>`
}

/** The attribute that draws the pattern of a class; empty without a pattern. */
export function hatchOf(chart: string, css: string): string {
  return tiles[css] === undefined ? '' : `url(#${idOf(chart, css)})`
}

function idOf(chart: string, css: string): string {
  return `hatch-${chart.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-${css}`
}
