// Shows how a figure has changed: an arrow, by how much, and whether that is better or worse.
import { duration } from './format.ts'
import { html, type Content } from './html.ts'

/** Smaller changes are shown as unchanged, because percentiles are exact only to 5 %. */
const minChange = 0.05
/** Percentage points. */
const minPoints = 0.005

/**
 * Against the previous period. `better`: `less` if a smaller figure is better. `points`: both are shares, and the difference is in
 * percentage points. Empty if there is nothing to compare with.
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
  if (Math.abs(change) < (isPoints ? minPoints : minChange)) {
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

/** Smaller differences are shown without a colour, because times are known to the second. */
const minMs = 1_000

/**
 * How much longer or shorter one run took than another. `factor`: differences below this factor of `there` are shown without a colour,
 * as they may be chance; absent: every difference counts.
 */
export function longer(deltaMs: number | undefined, there: number | undefined, factor = 1): Content {
  if (deltaMs === undefined || there === undefined) return html`<span class="figure dim">–</span>`
  const isSmall = Math.abs(deltaMs) < Math.max(minMs, there * (factor - 1))
  const shown = deltaMs === 0 ? '0' : `${deltaMs > 0 ? '+' : '−'}${duration(Math.abs(deltaMs))}`
  return html`<span class="figure delta ${isSmall ? '' : deltaMs > 0 ? 'worse' : 'better'}">${shown}</span>`
}
