// How a figure has changed against the period before: an arrow, by how much, and whether that is for the better.
import { duration } from './format.ts'
import { html, type Content } from './html.ts'

/** Percentiles are right within 5 %: by less nothing has changed. */
const least = 0.05
/** Percentage points. */
const leastPoints = 0.005

/**
 * `better`: `less` where a smaller figure is the better one. `points`: both are shares, and their difference is in percentage points.
 * Nothing where there is nothing to compare with.
 */
export function delta(
  now: number | undefined,
  before: number | undefined,
  better: 'less' | 'neutral',
  unit: 'percent' | 'points' = 'percent',
): Content {
  if (now === undefined || before === undefined) return ''
  const isPoints = unit === 'points'
  if (!isPoints && before === 0) return ''
  const change = isPoints ? now - before : now / before - 1
  if (Math.abs(change) < (isPoints ? leastPoints : least)) {
    return html`<span class="delta" title="Unchanged from the previous period"
      ><span aria-hidden="true">→</span><span class="visually-hidden">unchanged</span></span
    >`
  }
  const size = Math.abs(change) * 100
  const shown = `${size < 10 && isPoints ? size.toFixed(1) : Math.round(size)} ${isPoints ? 'points' : '%'}`
  const tone = better === 'neutral' ? '' : change < 0 ? 'better' : 'worse'
  return html`<span class="delta ${tone}" title="${shown} ${change > 0 ? 'more' : 'less'} than in the previous period"
    ><span aria-hidden="true">${change > 0 ? '▲' : '▼'}</span
    ><span class="visually-hidden">${change > 0 ? 'up by' : 'down by'}</span> ${shown}</span
  >`
}

/** Times are known to the second. */
const leastMs = 1_000

/**
 * By how much one run took longer than another, or less long. `factor`: by less than this times `there` nothing has changed but by chance;
 * absent: every difference counts.
 */
export function longer(deltaMs: number | undefined, there: number | undefined, factor = 1): Content {
  if (deltaMs === undefined || there === undefined) return html`<span class="figure dim">–</span>`
  const isSmall = Math.abs(deltaMs) < Math.max(leastMs, there * (factor - 1))
  const shown = deltaMs === 0 ? '0' : `${deltaMs > 0 ? '+' : '−'}${duration(Math.abs(deltaMs))}`
  return html`<span class="figure delta ${isSmall ? '' : deltaMs > 0 ? 'worse' : 'better'}">${shown}</span>`
}
