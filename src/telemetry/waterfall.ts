// A trace as text for a terminal: a tree of pipelines and jobs, each with its bar on a common time axis.
//
//   ✗ pipeline: Build and deploy · failed · 4m 12s · trace 5fbe2c4b2ade95c4e545a4025a7fadc5
//                        0s                 2m 06s               4m 12s
//   ├─ build   ✓ compile ░░██████                                            58s  success
//   └─ deploy  ○ live                                                 ·           manual, never ran
import { styleText } from 'node:util'
import { axisText, barOf, durationText, pointOf, type Axis, type Bar } from './waterfall-bar.ts'
import { neverRan, queuedFor, statusOfSpan, type WaterfallSpan } from './waterfall-span.ts'

export interface WaterfallOptions {
  /** Columns of the terminal; 100 unless told. */
  readonly width?: number | undefined
  /** Colours by ANSI escapes; none unless told. */
  readonly color?: boolean | undefined
}

/** A line of the tree. `stage` is empty where the line above says the same. */
interface Line {
  readonly branch: string
  readonly stage: string
  readonly span: WaterfallSpan
}

type Format = Parameters<typeof styleText>[0]
type Paint = (format: Format, text: string) => string

const marks: Readonly<Record<string, string>> = { success: '✓', failed: '✗', canceled: '■', skipped: '»', running: '●' }
const durationColumns = 7
const narrowestBar = 10
const longestNote = 40

/** One tree for each span without a parent among `spans`, a blank line between them. Ends without a line feed. */
export function waterfall(spans: readonly WaterfallSpan[], options: WaterfallOptions = {}): string {
  const width = options.width ?? 100
  const paint: Paint = (format, text) =>
    options.color === true ? styleText(format, text, { validateStream: false }) : text
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const children = Map.groupBy(spans, ({ parentSpanId, spanId }) =>
    parentSpanId !== undefined && parentSpanId !== spanId && ids.has(parentSpanId) ? parentSpanId : undefined,
  )
  const roots = (children.get(undefined) ?? []).toSorted((a, b) => a.start - b.start)
  return roots.map(root => tree(root, children, width, paint).join('\n')).join('\n\n')
}

function tree(
  root: WaterfallSpan,
  children: ReadonlyMap<string | undefined, WaterfallSpan[]>,
  width: number,
  paint: Paint,
): string[] {
  const lines: Line[] = []
  const walk = (span: WaterfallSpan, prefix: string): void => {
    const below = ordered(span, children.get(span.spanId) ?? [])
    let stage: string | undefined
    below.forEach((child, index) => {
      const isLast = index === below.length - 1
      const own = child.kind === 'job' ? text(child.attributes['job.stage']) : ''
      lines.push({ branch: prefix + (isLast ? '└─ ' : '├─ '), stage: own === stage ? '' : own, span: child })
      stage = own
      walk(child, prefix + (isLast ? '   ' : '│  '))
    })
  }
  if (root.kind === 'job') lines.push({ branch: '', stage: text(root.attributes['job.stage']), span: root })
  walk(root, '')

  const jobs = lines.filter(({ span }) => span.kind === 'job')
  const stageColumns = Math.max(0, ...jobs.map(({ stage }) => stage.length))
  const label = (line: Line): string =>
    `${line.branch}${line.stage.padEnd(stageColumns)}  ${mark(line.span)} ${nameOf(line.span)}`
  const wanted = Math.max(0, ...jobs.map(line => label(line).length))
  const noteColumns = Math.min(longestNote, Math.max(0, ...jobs.map(({ span }) => noteOf(span).length)))
  const others = durationColumns + noteColumns + 4
  const labelColumns = Math.max(8, Math.min(wanted, width - others - narrowestBar, Math.floor(width / 2)))
  const all = [root, ...lines.map(({ span }) => span)]
  const axis: Axis = {
    start: Math.min(...all.map(({ start }) => start)),
    end: Math.max(...all.map(({ end }) => end)),
    columns: Math.max(narrowestBar, width - labelColumns - others),
  }

  const draw = (line: Line): string => {
    const { span } = line
    if (span.kind === 'pipeline') return line.branch + headline(span, span.traceId !== root.traceId, paint)
    const bar = neverRan(span) ? pointOf(axis, span.end) : barOf(axis, span.start, span.end, queuedFor(span))
    const took = neverRan(span) ? '' : durationText(span.end - span.start)
    const note = fitted(noteOf(span), noteColumns)
    const name = fitted(label(line), labelColumns).padEnd(labelColumns)
    return `${name} ${drawn(bar, axis, span, paint)} ${took.padStart(durationColumns)}  ${paint(colorOf(span), note)}`.trimEnd()
  }
  const axisLine = `${' '.repeat(labelColumns)} ${paint('dim', axisText(axis))}`
  const head = root.kind === 'pipeline' ? [headline(root, true, paint)] : []
  return [...head, ...(jobs.length > 0 ? [axisLine] : []), ...lines.map(draw)]
}

/** By stage, in the pipeline's own order, then by time; what never ran comes last in its stage. */
function ordered(pipeline: WaterfallSpan, spans: readonly WaterfallSpan[]): WaterfallSpan[] {
  const told = pipeline.attributes['pipeline.stages']
  const stages: unknown[] = Array.isArray(told) ? told : []
  const rank = ({ attributes }: WaterfallSpan): number => {
    const index = stages.indexOf(attributes['job.stage'])
    return index === -1 ? stages.length : index
  }
  const late = (span: WaterfallSpan): number => Number(neverRan(span))
  return spans.toSorted(
    (a, b) => rank(a) - rank(b) || late(a) - late(b) || a.start - b.start || compare(a.name, b.name),
  )
}

function headline(span: WaterfallSpan, withTrace: boolean, paint: Paint): string {
  const attempt = Object.entries(span.attributes).find(([key]) => key.endsWith('.cicd.pipeline.run.attempt'))?.[1]
  const words = [
    statusOfSpan(span),
    durationText(span.end - span.start),
    ...(typeof attempt === 'number' ? [`attempt ${attempt}`] : []),
    ...(withTrace ? [`trace ${span.traceId}`] : []),
  ]
  return `${paint(colorOf(span), mark(span))} ${paint('bold', text(span.name))} · ${text(words.join(' · '))}`
}

function noteOf(span: WaterfallSpan): string {
  const { attributes } = span
  const reason = attributes['job.failure_reason']
  const words = [
    statusOfSpan(span),
    ...(typeof reason === 'string' ? [reason] : []),
    ...(attributes['job.type'] === 'bridge' ? ['bridge'] : []),
    ...(attributes['job.retried'] === true ? ['retried'] : []),
    ...(isAllowedFailure(span) ? ['allowed to fail'] : []),
    ...(neverRan(span) ? ['never ran'] : []),
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

function nameOf({ name }: WaterfallSpan): string {
  return text(name.replace(/^job: /, ''))
}

/** Text that a terminal can be trusted with: names come from outside and may hold escape sequences. */
function text(value: unknown): string {
  return typeof value === 'string' ? value.replace(/\p{C}+/gu, ' ') : ''
}

function fitted(value: string, columns: number): string {
  return value.length <= columns ? value : `${value.slice(0, Math.max(0, columns - 1))}…`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
