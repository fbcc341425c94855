// A waterfall as inline SVG. Bars carry no text that the table below them does not say too.
import { counted, duration } from './format.ts'
import { html, type Content, type Html } from './html.ts'
import { toneOf, wordOf } from './status.ts'
import type { Waterfall } from './waterfall-rows.ts'
import type { WaterfallRow } from './waterfall-row.ts'

const labels = 330
const chart = 790
const right = 80
const width = labels + chart + right
const rowHeight = 24
const head = 30

const seconds = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800]

export interface WaterfallLinks {
  /** What the drawing shows, for those who do not see it. */
  readonly says: string
  /** Where a row leads; undefined: it leads nowhere. */
  readonly href?: (row: WaterfallRow) => string | undefined
  /** The rows that a row opens to, in place; undefined: none. */
  readonly inside?: (row: WaterfallRow) => readonly WaterfallRow[] | undefined
  /** The pipeline whose page this is. */
  readonly asked?: number
}

/**
 * Drawings of the same width below each other: what a row opens to is one of its own, so that it opens without a script. The opener
 * stands before the row, which is a link.
 */
export function waterfallSvg({ rows, from, to }: Pick<Waterfall, 'rows' | 'from' | 'to'>, links: WaterfallLinks): Html {
  const parts: Html[] = []
  const draw = (some: readonly WaterfallRow[], says: string, isFirst = false): Html =>
    drawing(some, { from, to, isFirst, says }, links)
  let closed: WaterfallRow[] = []
  const flush = (): void => {
    if (closed.length === 0 && parts.length > 0) return
    parts.push(draw(closed, parts.length === 0 ? links.says : 'Further rows', parts.length === 0))
    closed = []
  }
  for (const row of rows) {
    const inside = links.inside?.(row)
    if (inside === undefined || inside.length === 0) closed.push(row)
    else {
      flush()
      parts.push(
        html`<div class="opens">
          ${draw([row], row.label)}
          <details class="inside">
            <summary aria-label="${counted(inside.length, 'section')} of ${row.label}"></summary>
            ${draw(inside, `Sections of ${row.label}`)}
          </details>
        </div>`,
      )
    }
  }
  flush()
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Waterfall">${parts}</div>`
}

interface Drawing {
  readonly from: number
  readonly to: number
  /** With the names of its ticks. */
  readonly isFirst: boolean
  readonly says: string
}

function drawing(rows: readonly WaterfallRow[], { from, to, isFirst, says }: Drawing, links: WaterfallLinks): Html {
  const top = isFirst ? head : 0
  const height = top + rows.length * rowHeight
  const x = (at: number): number => labels + ((at - from) / (to - from)) * chart
  return html`<svg class="waterfall" viewBox="0 0 ${width} ${height}" role="group" aria-label="${says}">
    ${ticks(to - from).map(tick => {
      const at = Number(x(from + tick).toFixed(1))
      return html`<g class="tick"
        ><line x1="${at}" x2="${at}" y1="${Math.max(0, top - 6)}" y2="${height}" />${
          isFirst &&
          html`<text x="${at}" y="${top - 12}"
            >${tick === 0 ? '0' : duration(tick).replace(/(?<=[mh]) 00 [sm]$/, '')}</text
          >`
        }</g
      >`
    })}
    ${rows.map((row, index) => drawn(row, top + index * rowHeight, x, links))}
  </svg>`
}

function ticks(span: number): number[] {
  const step = 1_000 * (seconds.find(one => span / (one * 1_000) <= 8) ?? 2_592_000)
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, index) => index * step)
}

function drawn(row: WaterfallRow, y: number, x: (at: number) => number, { href, asked }: WaterfallLinks): Html {
  const { kind, label, note, status, depth, start, end, retried, critical } = row
  const indent = 8 + Math.min(depth, 12) * 12
  const room = Math.floor((labels - indent - 30 - (note?.length ?? 0) * 6.4) / (kind === 'pipeline' ? 8.6 : 7.6))
  const shown = shortened(label, room, kind)
  const took = start === undefined || end === undefined ? undefined : end - start
  const words = [
    label,
    note,
    status === '' ? undefined : wordOf(status),
    took === undefined ? 'did not run' : duration(took),
  ]
  const said = [...words, critical && kind === 'job' ? 'on the critical path' : undefined].filter(Boolean).join(', ')
  const classes = [
    'row',
    kind,
    toneOf(status),
    retried && 'retried',
    critical && 'critical',
    kind === 'pipeline' && row.id === asked && 'asked',
  ]
  const address = kind === 'stage' || kind === 'section' ? undefined : href?.(row)
  // The space between label and note is for screen readers.
  const text = html`<text class="label" x="${indent + (kind === 'stage' ? 0 : 20)}" y="${y + 16}"
    >${shown}${note !== undefined && html` <tspan class="note" dx="3">${note}</tspan>`}</text
  >`
  const head = html`<rect class="band" x="0" y="${y}" width="${width}" height="${rowHeight}" />
    ${kind !== 'stage' && html`<circle class="dot" cx="${indent + 8}" cy="${y + 12}" r="5" />`}${text}`
  return html`<g class="${classes.filter(Boolean).join(' ')}">
    <title>${said}</title>
    ${address === undefined ? head : html`<a href="${address}">${head}</a>`} ${bars(row, y, x)}
  </g>`
}

/** Of a job its beginning, of a project's path its end says most: from a slash on, where there is room. */
function shortened(label: string, room: number, kind: WaterfallRow['kind']): string {
  const characters = Array.from(label)
  if (widthOf(characters) <= room) return label
  const fits = Math.max(3, room - 1)
  if (kind !== 'pipeline') return `${fitting(characters, fits).join('')}…`
  const end = fitting(characters.reverse(), fits).reverse().join('')
  return `…${end.slice(Math.max(0, end.indexOf('/')))}`
}

function fitting(characters: readonly string[], room: number): string[] {
  let width = 0
  const end = characters.findIndex(character => (width += widthOf([character])) > room)
  return characters.slice(0, end === -1 ? undefined : end)
}

/** In small letters of Latin: capitals are wider, and those of East Asia and pictures nearly twice as wide. */
function widthOf(characters: readonly string[]): number {
  return characters.reduce(
    (sum, one) => sum + ((one.codePointAt(0) ?? 0) >= 0x1100 ? 1.9 : /[A-ZMWmw@%]/.test(one) ? 1.4 : 1),
    0,
  )
}

function bars({ kind, queued, start, end, status }: WaterfallRow, y: number, x: (at: number) => number): Content {
  if (start === undefined || end === undefined) {
    return kind === 'job' && html`<text class="idle" x="${labels + 4}" y="${y + 16}">${wordOf(status)}</text>`
  }
  const left = x(start)
  const long = Math.max(2, x(end) - left)
  if (kind === 'stage')
    return html`<rect class="stage-bar" x="${left.toFixed(1)}" y="${y + 11}" width="${long.toFixed(1)}" height="2" />`
  const [top, high] = kind === 'pipeline' ? [y + 8, 8] : [y + 5, 14]
  const waited = queued === undefined ? 0 : left - x(queued)
  return html`${
      waited > 1 &&
      html`<rect
        class="queue"
        x="${(left - waited).toFixed(1)}"
        y="${y + 9}"
        width="${waited.toFixed(1)}"
        height="6"
      />`
    }<rect
      class="bar"
      x="${left.toFixed(1)}"
      y="${top}"
      width="${long.toFixed(1)}"
      height="${high}"
      rx="${kind === 'pipeline' ? 4 : 3}"
    />
    <text class="took" x="${(left + long + 6).toFixed(1)}" y="${y + 16}">${duration(end - start)}</text>`
}
