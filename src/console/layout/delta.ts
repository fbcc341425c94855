// Renders the change of a value: an arrow, its size, and whether the change is for the better or the worse.
import { counted, duration, number } from './format.ts'
import { html, type Content } from './html.ts'

/** Changes smaller than this are shown as unchanged, because percentiles are only accurate to 5 %. */
const minChange = 0.05
/** Changes smaller than this are shown without colour, because each of the two percentiles may be off by 5 %. */
const minColoured = 0.1
/** Changes of a percentage smaller than this are shown as unchanged. 0.005 is half a percentage point. */
const minPoints = 0.005
/** If either period has fewer runs than this, a change may be random: it is shown without colour and with the number of runs. */
const minRuns = 20

interface DeltaOptions {
  /** The unit of the change. `points`: both values are shares, and their difference is shown in percentage points. */
  readonly unit?: 'percent' | 'points'
  /** The number of runs counted in each of the two periods. */
  readonly runs: readonly [now: number, before: number]
  /** Whether the value is exact. Sums are exact; percentiles are not. */
  readonly isExact?: boolean
}

/**
 * Renders the change since the previous period. `better` is `less` if a smaller value is better. The result is empty if there is nothing to compare
 * with.
 */
export function delta(
  now: number | undefined,
  before: number | undefined,
  better: 'less' | 'neutral',
  { unit = 'percent', runs, isExact = unit === 'points' }: DeltaOptions,
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
  const isFew = Math.min(...runs) < minRuns
  const isClear = !isFew && (isExact || Math.abs(change) > minColoured)
  const tone = better === 'neutral' || !isClear ? '' : change < 0 ? 'better' : 'worse'
  const counts =
    better !== 'neutral' &&
    isFew &&
    html` <span class="dim">(${number(runs[0])} after ${counted(runs[1], 'run')})</span>`
  return html`<span class="delta ${tone}" title="${shown} ${change > 0 ? 'more' : 'less'} than in the previous period"
    ><span aria-hidden="true">${change > 0 ? '▲' : '▼'}</span
    ><span class="visually-hidden">${change > 0 ? 'up by' : 'down by'}</span> ${shown}${counts}</span
  >`
}

/** Differences smaller than this are shown without colour, because timestamps are only accurate to the second. */
const minMs = 1_000

/**
 * Renders how much longer or shorter one run took than another, or than the median of `runs` runs. `there` is the duration of the other run, or the
 * median. Differences smaller than `there` times (`factor` − 1) are shown without colour, because they may be random. Without `factor`, every
 * difference of at least a second counts.
 */
export function longer(deltaMs: number | undefined, there: number | undefined, factor = 1, runs = Infinity): Content {
  if (deltaMs === undefined || there === undefined) return html`<span class="figure dim">–</span>`
  const isFew = runs < minRuns
  const isSmall = isFew || Math.abs(deltaMs) < Math.max(minMs, there * (factor - 1))
  const shown = deltaMs === 0 ? '0' : `${deltaMs > 0 ? '+' : '−'}${duration(Math.abs(deltaMs))}`
  return html`<span class="figure delta ${isSmall ? '' : deltaMs > 0 ? 'worse' : 'better'}"
    >${shown}${isFew && html` <span class="dim">(of ${counted(runs, 'run')})</span>`}</span
  >`
}
