// Draws a waterfall chart. A row consists of a label and a track with its bar, side by side, or stacked on a narrow page. Zooming
// (assets/waterfall.js) widens all tracks at once. Stages can be collapsed and a job's sections expanded without scripts.
import { hasFailed } from '../../model/status.ts'
import { counted, duration, roughly } from '../layout/format.ts'
import { html, type Content, type Html } from '../layout/html.ts'
import { isUnusual, type Usual } from '../pipelines/usual.ts'
import { toneOf, wordOf } from '../layout/status.ts'
import type { Waterfall } from './waterfall-rows.ts'
import type { WaterfallRow } from './waterfall-row.ts'

/** The percentage of a track's width used by the time axis. The rest is for the durations shown after the bars. */
const whole = 91
/** If a bar ends before this percentage of its track, there is room after it for both the actual and the usual duration. */
const roomFor = 75
/** The maximum indentation level. Deeper levels are not indented further. */
const maxIndent = 9
/** If the chart contains at least this many jobs, its stages initially show only notable jobs: failed, running, or on the critical path. */
const minLargeJobs = 100
/** The maximum number of notable jobs that a stage shows initially. */
const maxRemarkable = 12

const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800]

interface WaterfallLinks {
  /** A description of the chart for screen readers. */
  readonly description: string
  readonly href?: (row: WaterfallRow) => string | undefined
  /** Returns the rows that a row expands to, if it is expandable. */
  readonly inside?: (row: WaterfallRow) => readonly WaterfallRow[] | undefined
  readonly usual?: (row: WaterfallRow) => Usual | undefined
  /** The id of the pipeline that the page shows. */
  readonly asked?: number
}

/** A row of the waterfall with its child rows. */
interface Branch {
  readonly row: WaterfallRow
  readonly below: Branch[]
}

interface Drawing {
  /** Converts a time to a position in percent of a track's width. */
  readonly x: (at: number) => number
  readonly links: WaterfallLinks
  readonly isLarge: boolean
}

export function waterfallDrawing(
  { rows, from, to }: Pick<Waterfall, 'rows' | 'from' | 'to'>,
  links: WaterfallLinks,
): Html {
  const x = (at: number): number => ((at - from) / (to - from)) * whole
  const drawing: Drawing = { x, links, isLarge: rows.filter(({ kind }) => kind === 'job').length >= minLargeJobs }
  return html`<div
    class="waterfall${drawing.isLarge ? ' many' : ''}"
    tabindex="0"
    role="region"
    aria-label="${links.description}"
    data-span="${to - from}"
    data-whole="${whole}"
  >
    <div class="zoom" role="group" aria-label="Zoom">
      <button type="button" data-zoom="in" aria-label="Zoom in">+</button
      ><button type="button" data-zoom="out" aria-label="Zoom out">−</button
      ><button type="button" data-zoom="all">All</button>
    </div>
    ${axis(to - from)}
    <div class="rows">${treeOf(rows).map(branch => drawn(branch, drawing))}</div>
  </div>`
}

function treeOf(rows: readonly WaterfallRow[]): Branch[] {
  const top: Branch[] = []
  const path: Branch[] = []
  for (const row of rows) {
    const branch: Branch = { row, below: [] }
    while ((path.at(-1)?.row.depth ?? -1) >= row.depth) path.pop()
    const above = path.at(-1)
    if (above === undefined) top.push(branch)
    else above.below.push(branch)
    path.push(branch)
  }
  return top
}

/** Draws vertical lines through all rows, with their times in a row that stays visible while the page scrolls. */
function axis(span: number): Html {
  const at = ticks(span).map(tick => [(tick / span) * whole, tick] as const)
  return html`<div class="axis-line" aria-hidden="true">
      <svg class="bars ticks">
        ${at.map(([x, tick]) => html`<text x="${percent(x)}" y="14">${tickName(tick)}</text>`)}
      </svg>
    </div>
    <div class="lines" aria-hidden="true">
      <svg class="bars">${at.map(([x]) => html`<line x1="${percent(x)}" x2="${percent(x)}" y1="0" y2="100%" />`)}</svg>
    </div>`
}

function ticks(span: number): number[] {
  const step = 1_000 * (seconds.find(one => span / (one * 1_000) <= 8) ?? 2_592_000)
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step)
}

function tickName(tick: number): string {
  return tick === 0 ? '0' : duration(tick).replace(/(?<=[mh]) 00 [sm]$/, '')
}

function drawn({ row, below }: Branch, drawing: Drawing): Html {
  const { links, isLarge } = drawing
  if (row.kind === 'stage') {
    const isRemarkable = new Set(isLarge ? remarkable(below) : below)
    const [first, folded] = [below.filter(one => isRemarkable.has(one)), below.filter(one => !isRemarkable.has(one))]
    return html`<details class="stage-rows" ${first.length > 0 && html` open`}>
      <summary class="${classesOf(row, links)}">${cells(row, drawing)}</summary>
      ${first.map(one => drawn(one, drawing))}
      ${
        first.length > 0 && folded.length > 0
          ? html`<details class="stage-rest">
              <summary>${counted(folded.length, 'more job')}</summary>
              ${folded.map(one => drawn(one, drawing))}
            </details>`
          : folded.map(one => drawn(one, drawing))
      }
    </details>`
  }
  const rest = below.map(one => drawn(one, drawing))
  const inside = links.inside?.(row) ?? []
  const its = html`<div class="${classesOf(row, links)}">${cells(row, drawing)}</div>`
  if (inside.length === 0) return html`${its}${rest}`
  return html`<div class="opens">
      ${its}
      <details class="inside">
        <summary aria-label="${counted(inside.length, 'section')} of ${row.label}"></summary>
        ${inside.map(one => html`<div class="${classesOf(one, links)}">${cells(one, drawing)}</div>`)}
      </details>
    </div>
    ${rest}`
}

/** Returns a stage's notable jobs, failed ones first, up to the maximum. */
function remarkable(jobs: readonly Branch[]): readonly Branch[] {
  const rank = ({ row }: Branch): number => Number(!isFailed(row))
  return jobs
    .filter(needsALook)
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, maxRemarkable)
}

function isFailed({ status, retried }: WaterfallRow): boolean {
  return (hasFailed(status) || status === 'warning') && !retried
}

function needsALook({ row, below }: Branch): boolean {
  return isFailed(row) || row.status === 'running' || row.critical || row.kind === 'pipeline' || below.some(needsALook)
}

function classesOf({ kind, status, retried, critical, id }: WaterfallRow, { asked }: WaterfallLinks): string {
  const all = [
    ...['row', kind, toneOf(status)],
    ...[retried && 'retried', critical && 'critical', kind === 'pipeline' && id === asked && 'asked'],
  ]
  return all.filter(Boolean).join(' ')
}

function cells(row: WaterfallRow, { x, links }: Drawing): Content {
  const { kind, label, note, status, start, end, critical, depth } = row
  const took = start === undefined || end === undefined ? undefined : end - start
  const usual = links.usual?.(row)
  const words = [
    status === '' ? undefined : wordOf(status),
    took === undefined ? 'did not run' : duration(took),
    usual?.p50 !== undefined && `usually ${roughly(usual.p50)}`,
    critical && kind === 'job' && 'on the critical path',
  ]
    .filter(Boolean)
    .join(', ')
  const address = kind === 'stage' || kind === 'section' ? undefined : links.href?.(row)
  const name = html`<span class="name" title="${label}">${label}</span>`
  return html`<div class="label">
      <span class="depth">${'\u2003'.repeat(Math.min(depth, maxIndent))}</span
      >${kind !== 'stage' && html`<i class="dot"></i>`}${address === undefined ? name : html`<a href="${address}">${name}</a>`}
      ${note !== undefined && html`<span class="note">${note}</span>`}
      <span class="ran" aria-hidden="true">${took !== undefined && duration(took)}</span
      ><span class="visually-hidden">, ${words}</span>
    </div>
    <div class="track" title="${label}, ${words}">
      <svg class="bars" aria-hidden="true">${bars(row, usual, x)}</svg>
    </div>`
}

function bars(
  { kind, queued, start, end, status }: WaterfallRow,
  usual: Usual | undefined,
  x: (at: number) => number,
): Content {
  if (start === undefined || end === undefined) {
    return kind === 'job' && html`<text class="idle" x="0" dx="4" y="16">${wordOf(status)}</text>`
  }
  const left = x(start)
  const long = Math.max(0.15, x(end) - left)
  if (kind === 'stage') {
    return html`<rect class="stage-bar" x="${percent(left)}" y="11" width="${percent(long)}" height="2" />`
  }
  const [top, high] = kind === 'pipeline' ? [8, 8] : [5, 14]
  const waited = queued === undefined ? 0 : left - x(queued)
  const isLong = isUnusual(end - start, usual)
  const mark = usual?.p50 === undefined ? undefined : x(start + usual.p50)
  return html`${
      waited > 0.1 &&
      html`<rect class="queue" x="${percent(left - waited)}" y="9" width="${percent(waited)}" height="6" />`
    }<rect
      class="bar"
      x="${percent(left)}"
      y="${top}"
      width="${percent(long)}"
      height="${high}"
      rx="${kind === 'pipeline' ? 4 : 3}"
    />
    ${isLong && mark !== undefined && html`<line class="usual-end" x1="${percent(mark)}" x2="${percent(mark)}" y1="2" y2="22" />`}
    <text class="took" x="${percent(left + long)}" dx="6" y="16"
      >${duration(end - start)}${isLong && left + long < roomFor && usual?.p50 !== undefined && `, usually ${roughly(usual.p50)}`}</text
    >`
}

function percent(value: number): string {
  return `${value.toFixed(2)}%`
}
