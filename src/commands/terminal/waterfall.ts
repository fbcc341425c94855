// A trace as text for a terminal: a tree of pipelines and jobs, each with its bar on a shared time axis.
//
//   ✗ pipeline: Build and deploy · failed · 4 m 12 s · trace 5fbe2c4b2ade95c4e545a4025a7fadc5
//                        0 s               2 m 06 s            4 m 12 s
//   ├─ build   ✓ compile ░░██████                                           58 s  success
//   └─ deploy  ○ live                                                 ·           manual, never ran
import { styleText } from 'node:util'
import { fitted, padded, plain, widthOf } from './fitted-text.ts'
import { durationText } from '../../model/instant.ts'
import { isWaiting, neverRan, queuedFor, statusOfSpan, type WaterfallSpan } from '../../simulator/waterfall-span.ts'

export interface WaterfallOptions {
  /** The width of the terminal in columns. The default is 100. */
  readonly width?: number | undefined
  /** Whether to colour the text with ANSI escapes. The default is no colours. */
  readonly color?: boolean | undefined
}

/** `stage` is empty if the line above has the same stage. */
interface Line {
  readonly branch: string
  readonly stage: string
  readonly span: WaterfallSpan
}

/** The widths of the columns of a tree. */
interface Layout {
  readonly stage: number
  readonly label: number
  readonly note: number
  readonly axis: Axis
}

type Format = Parameters<typeof styleText>[0]
type Paint = (format: Format, text: string) => string
type Children = ReadonlyMap<string | undefined, readonly WaterfallSpan[]>

const marks: Readonly<Record<string, string>> = { success: '✓', failed: '✗', canceled: '■', skipped: '»', running: '●' }
const durationColumns = 9
const minBarWidth = 10
const minLabelWidth = 8
const maxNoteLength = 40

/** Draws one tree for each span whose parent is not among `spans`, with a blank line between trees. The text ends without a line feed. */
export function waterfall(spans: readonly WaterfallSpan[], options: WaterfallOptions = {}): string {
  const paint: Paint = (format, plain) =>
    options.color === true ? styleText(format, plain, { validateStream: false }) : plain
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const children = Map.groupBy(spans, ({ parentSpanId, spanId }) =>
    parentSpanId !== undefined && parentSpanId !== spanId && ids.has(parentSpanId) ? parentSpanId : undefined,
  )
  const roots = (children.get(undefined) ?? []).toSorted((a, b) => a.start - b.start)
  return roots.map(root => tree(root, children, options.width ?? 100, paint).join('\n')).join('\n\n')
}

function tree(root: WaterfallSpan, children: Children, width: number, paint: Paint): string[] {
  const below = linesBelow(root, children, '')
  const lines = root.kind === 'job' ? [{ branch: '', stage: stageOf(root), span: root }, ...below] : below
  const head = root.kind === 'pipeline' ? [headline(root, true, { paint, width })] : []
  if (lines.length === 0) return head
  const layout = layoutOf(root, lines, width)
  return [
    ...head,
    `${' '.repeat(layout.label)} ${paint('dim', axisText(layout.axis))}`,
    ...lines.map(line =>
      line.span.kind === 'job'
        ? jobLine(line, layout, paint)
        : line.branch +
          headline(line.span, line.span.traceId !== root.traceId, { paint, width: width - widthOf(line.branch) }),
    ),
  ]
}

function linesBelow(span: WaterfallSpan, children: Children, prefix: string): Line[] {
  const below = ordered(span, children.get(span.spanId) ?? [])
  return below.flatMap((child, index) => {
    const isLast = index === below.length - 1
    const before = below[index - 1]
    const stage = before !== undefined && stageOf(before) === stageOf(child) ? '' : stageOf(child)
    const line = { branch: prefix + (isLast ? '└─ ' : '├─ '), stage, span: child }
    return [line, ...linesBelow(child, children, prefix + (isLast ? '   ' : '│  '))]
  })
}

/** Computes the widths of the columns. The bar gets the remaining columns. On a narrow terminal, labels and notes are cut first. */
function layoutOf(root: WaterfallSpan, lines: readonly Line[], width: number): Layout {
  const jobs = lines.filter(({ span }) => span.kind === 'job')
  const stage = longest(jobs.map(line => line.stage))
  const note = Math.min(maxNoteLength, Math.floor(width / 3), longest(jobs.map(({ span }) => noteOf(span))))
  const others = durationColumns + note + 4
  const wanted = longest(jobs.map(line => labelOf(line, stage)))
  const label = Math.max(minLabelWidth, Math.min(wanted, width - others - minBarWidth, Math.floor(width / 2)))
  const all = [root, ...lines.map(({ span }) => span)]
  const axis = {
    start: Math.min(...all.map(({ start }) => start)),
    end: Math.max(...all.map(({ end }) => end)),
    columns: Math.max(minBarWidth, width - label - others),
  }
  return { stage, label, note, axis }
}

function jobLine(line: Line, { stage, label, note, axis }: Layout, paint: Paint): string {
  const { span } = line
  const took = neverRan(span) || isWaiting(span) ? '' : durationText(span.end - span.start)
  const cells = [
    padded(labelOf(line, stage), label),
    drawn(barIn(axis, span), axis, span, paint),
    `${took.padStart(durationColumns)} `,
    paint(colorOf(span), fitted(noteOf(span), note)),
  ]
  return cells.join(' ').trimEnd()
}

function barIn(axis: Axis, span: WaterfallSpan): Bar {
  if (isWaiting(span)) return waitOf(axis, span.end, queuedFor(span))
  return neverRan(span) ? pointOf(axis, span.end) : barOf(axis, span.start, span.end, queuedFor(span))
}

function labelOf({ branch, stage, span }: Line, stageColumns: number): string {
  return `${branch}${padded(stage, stageColumns)}  ${mark(span)} ${text(span.name.replace(/^job: /, ''))}`
}

function stageOf({ kind, attributes }: WaterfallSpan): string {
  return kind === 'job' ? text(attributes['job.stage']) : ''
}

function longest(texts: readonly string[]): number {
  return Math.max(0, ...texts.map(widthOf))
}

/** Sorts spans by stage in the order of the pipeline, then by time. Jobs that never ran come last in their stage. */
function ordered(pipeline: WaterfallSpan, spans: readonly WaterfallSpan[]): WaterfallSpan[] {
  const listed = pipeline.attributes['pipeline.stages']
  const stages: unknown[] = Array.isArray(listed) ? listed : []
  const rank = ({ attributes }: WaterfallSpan): number => {
    const index = stages.indexOf(attributes['job.stage'])
    return index === -1 ? stages.length : index
  }
  const late = (span: WaterfallSpan): number => Number(neverRan(span))
  return spans.toSorted(
    (a, b) => rank(a) - rank(b) || late(a) - late(b) || a.start - b.start || compare(a.name, b.name),
  )
}

/** Formats a pipeline's line. On a narrow terminal the name is cut, but to no fewer than 8 columns. */
function headline(
  span: WaterfallSpan,
  withTrace: boolean,
  { paint, width }: { readonly paint: Paint; readonly width: number },
): string {
  const attempt = Object.entries(span.attributes).find(([key]) => key.endsWith('.cicd.pipeline.run.attempt'))?.[1]
  const words = [
    statusOfSpan(span),
    durationText(span.end - span.start),
    ...(typeof attempt === 'number' ? [`attempt ${attempt}`] : []),
    ...(withTrace && span.traceId !== '' ? [`trace ${span.traceId}`] : []),
  ]
  const rest = ` · ${text(words.join(' · '))}`
  const name = fitted(text(span.name), Math.max(minLabelWidth, width - 2 - widthOf(rest)))
  return `${paint(colorOf(span), mark(span))} ${paint('bold', name)}${rest}`
}

function noteOf(span: WaterfallSpan): string {
  const { attributes } = span
  const reason = attributes['job.failure_reason']
  const words = [
    statusOfSpan(span),
    ...(attributes['job.type'] === 'bridge' ? ['bridge'] : []),
    ...(attributes['job.retried'] === true ? ['retried'] : []),
    ...(isAllowedFailure(span) ? ['allowed to fail'] : []),
    ...(neverRan(span) ? ['never ran'] : []),
    ...(typeof reason === 'string' ? [reason] : []),
  ]
  return text(words.join(', '))
}

function drawn(bar: Bar, axis: Axis, span: WaterfallSpan, paint: Paint): string {
  const rest = axis.columns - bar.before.length - bar.queued.length - bar.ran.length
  const queued = bar.queued === '' ? '' : paint('dim', bar.queued)
  return bar.before + queued + paint(colorOf(span), bar.ran) + ' '.repeat(Math.max(0, rest))
}

function mark(span: WaterfallSpan): string {
  return isAllowedFailure(span) ? '!' : (marks[statusOfSpan(span)] ?? '○')
}

function isAllowedFailure(span: WaterfallSpan): boolean {
  return statusOfSpan(span) === 'failed' && span.attributes['job.allow_failure'] === true
}

function colorOf(span: WaterfallSpan): Format {
  if (isAllowedFailure(span) || statusOfSpan(span) === 'canceled') return 'yellow'
  if (span.status === 'error') return 'red'
  return span.status === 'ok' ? 'green' : 'dim'
}

function text(value: unknown): string {
  return typeof value === 'string' ? plain(value) : ''
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** The common time range of all bars in Unix ms, and its width in columns. */
interface Axis {
  readonly start: number
  readonly end: number
  readonly columns: number
}

/** A bar in three parts: an empty part, the queued time and the running time. */
interface Bar {
  readonly before: string
  readonly queued: string
  readonly ran: string
}

/**
 * Returns the bar of a job that ran from `start` to `end` after it had been queued for `queued` ms. The part for the running time has at least one
 * column.
 */
function barOf(axis: Axis, start: number, end: number, queued: number): Bar {
  const last = axis.columns - 1
  const from = Math.min(last, column(axis, start))
  const to = Math.min(axis.columns, Math.max(from + 1, column(axis, end)))
  const waiting = Math.min(from, column(axis, start - queued))
  return { before: ' '.repeat(waiting), queued: '░'.repeat(from - waiting), ran: '█'.repeat(to - from) }
}

/** Returns a dot instead of a bar, for jobs that took no time. */
function pointOf(axis: Axis, at: number): Bar {
  return { before: ' '.repeat(Math.min(axis.columns - 1, column(axis, at))), queued: '', ran: '·' }
}

/** Returns a bar with only queued time, or a dot if that time is too short. */
function waitOf(axis: Axis, until: number, queued: number): Bar {
  const { before, queued: waited } = barOf(axis, until, until, queued)
  return waited === '' ? pointOf(axis, until) : { before, queued: waited, ran: '' }
}

/** Returns the labels of the axis: its start, its middle if there is room, and its end. */
function axisText({ start, end, columns }: Axis): string {
  const total = durationText(end - start)
  const middle = durationText((end - start) / 2)
  const left = '0 s'
  const half = Math.floor(columns / 2)
  const hasMiddle = half > left.length + 2 && columns - half - middle.length > total.length + 2
  const begun = hasMiddle ? left.padEnd(half) + middle : left
  return begun + total.padStart(Math.max(total.length + 1, columns - begun.length))
}

function column({ start, end, columns }: Axis, at: number): number {
  const share = end > start ? (at - start) / (end - start) : 0
  return Math.round(Math.min(1, Math.max(0, share)) * columns)
}
