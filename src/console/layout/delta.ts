// Shows how a figure has changed: an arrow, by how much, and whether that is better or worse.
import { counted, duration, number } from './format.ts'
import { html, type Content } from './html.ts'

/** Smaller changes are shown as unchanged, because percentiles are exact only to 5 %. */
const minChange = 0.05
/** Smaller changes have no colour, because either percentile may be wrong by 5 %. */
const minColoured = 0.1
/** Smaller changes of a share are shown as unchanged; 0.005 is half a percentage point. */
const minPoints = 0.005
/** With fewer runs on either side, the change may be chance: it has no colour, and the counts are shown. */
const minRuns = 20

interface DeltaOptions {
  /** `points`: both are shares, and the difference is in percentage points. */
  readonly unit?: 'percent' | 'points'
  /** How many runs each side counted. */
  readonly runs: readonly [now: number, before: number]
  /** Sums are exact; percentiles are not. */
  readonly isExact?: boolean
}

/** The change since the previous period. `better`: `less` if a smaller figure is better. Empty if there is nothing to compare with. */
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

/** Smaller differences have no colour, because times are only known to the second. */
const minMs = 1_000

/**
 * How much longer or shorter one run took than another, or than the median of `runs` runs. `factor`: differences below this factor of
 * `there` are shown without a colour, as they may be chance; absent: every difference counts.
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
