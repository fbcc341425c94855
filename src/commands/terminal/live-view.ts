// Draws the state of a daemon as lines of text: which pipelines are running, waiting and failing. Pure. `pipespan top` calls it every second.
import { durationText } from '../../model/instant.ts'
import { drawnLine, type Piece, withoutLast } from './fitted-text.ts'
import { keyOf, matches, type LivePipeline, type LiveState, type LiveJob, pipelineRows } from './pipeline-rows.ts'
import { isActive, isTerminal } from '../../model/status.ts'
import { waterfall, type WaterfallOptions } from './waterfall.ts'
import type { WaterfallSpan } from '../../simulator/waterfall-span.ts'

interface LiveViewOptions {
  /** The daemon's address, shown on the first line. */
  readonly from: string
  readonly now: number
  /** The width of the screen in columns. Longer lines are cut. */
  readonly width: number
  /** The maximum number of lines. The lists are shortened to fit. */
  readonly height: number
  readonly color: boolean
  /** The selection and the filter. If undefined, both are unavailable, and no key bindings are shown. */
  readonly screen?: Screen | undefined
}

/** Returns the pipelines that match the filter, in the order in which they are displayed. */
export function listedPipelines({ running, finished }: LiveState, filter: string): LivePipeline[] {
  return [...running, ...finished].filter(one => matches(one, filter))
}

/** Returns the text of the screen, without a final line feed. */
export function liveView(state: LiveState, options: LiveViewOptions): string {
  const { width, height, color, screen } = options
  const { filter = '', selected } = screen ?? {}
  const listed = (some: readonly LivePipeline[]): LivePipeline[] => some.filter(one => matches(one, filter))
  const [running, finished] = [listed(state.running), listed(state.finished)]
  const rows = pipelineRows([...running, ...finished], { width, selected })
  const head = headLines(state, options)
  const foot: Piece[][] = screen === undefined ? [] : [footLine(screen)]
  const room = Math.max(2, height - head.length - foot.length - 3)
  const shown = shares(running.length, finished.length, room)
  const count =
    filter === '' && state.active > running.length
      ? `the newest ${running.length} of ${state.active}`
      : String(filter === '' ? state.active : running.length)
  const isSelected = (one: LivePipeline): boolean => keyOf(one) === selected
  const [runningRows, finishedRows] = [rows.slice(0, running.length), rows.slice(running.length)]
  const lines: (readonly Piece[])[] = [
    ...head,
    [['dim', `RUNNING (${count})`]],
    ...(running.length === 0
      ? [['  nothing runs']]
      : around(runningRows, running.findIndex(isSelected), shown.running)),
    [],
    [['dim', 'LAST FINISHED']],
    ...(finished.length === 0
      ? [['  none yet']]
      : around(finishedRows, finished.findIndex(isSelected), shown.finished)),
  ]
  // If the screen is too small for notices and queues, only the first lines are shown.
  return [...lines.slice(0, height - foot.length), ...foot].map(line => drawnLine(line, width, color)).join('\n')
}

/** Returns `count` lines around the line at index `at`, or the first lines if the index is -1. */
function around<T>(lines: readonly T[], at: number, count: number): readonly T[] {
  const first = Math.max(0, Math.min(lines.length - count, at - Math.floor(count / 2)))
  return lines.slice(first, first + count)
}

/** Computes how many lines of each list are shown. A list may use the lines that the other list does not need. */
function shares(running: number, finished: number, room: number): { running: number; finished: number } {
  const half = Math.max(1, Math.floor(room / 2))
  const forRunning = Math.max(1, Math.min(running, Math.max(half, room - Math.max(1, finished))))
  return { running: forRunning, finished: Math.max(1, room - forRunning) }
}

function headLines(state: LiveState, { from, now }: LiveViewOptions): Piece[][] {
  const { notices, flow, quarantined, queues } = state
  const ago = (at: number | undefined): string =>
    at === undefined ? 'never' : `${durationText(Math.max(0, now - at))} ago`
  const oldest = (at: number | undefined): string => (at === undefined ? '' : `, oldest ${ago(at)}`)
  return [
    [['bold', `Pipespan at ${from}`], `  ${new Date(now).toISOString().slice(0, 19).replace('T', ' ')} UTC`],
    [
      `received ${flow.received}, last accepted ${ago(flow.lastAccepted)}`,
      ...(quarantined > 0 ? [['red', `, ${quarantined} quarantined`] as const] : []),
    ],
    ...notices.map(({ level, what, remedy }): Piece[] => [
      [level === 'problem' ? 'red' : 'yellow', `! ${what}`],
      ` ${remedy}`,
    ]),
    [],
    [['dim', 'EXPORTS']],
    ...queues.map((queue): Piece[] => [
      `  ${queue.destination} ${queue.signal}: `,
      [queue.state === 'closed' ? 'green' : 'red', queue.state],
      `, ${queue.pending} pending${oldest(queue.oldest)}, ${queue.counters.delivered} delivered`,
      ...(queue.dead > 0 ? [['red', `, ${queue.dead} dead letters`] as const] : []),
    ]),
    [],
  ]
}

function footLine({ filter, isTyping, opened }: Screen): Piece[] {
  if (isTyping)
    return [
      ['bold', `/${filter}█`],
      ['dim', '  Enter keeps the filter, Esc clears it'],
    ]
  if (opened !== undefined) return [['dim', 'Esc back · ↑↓ scroll · q quit']]
  const clear: Piece[] =
    filter === ''
      ? []
      : [
          ['bold', `/${filter}`],
          ['dim', '  Esc clears · '],
        ]
  return [...clear, ['dim', '↑↓ select · Enter waterfall · / filter · q quit']]
}

/** `lines` are all lines of the waterfall, including those that do not fit on the screen. */
export function waterfallView(
  lines: readonly string[],
  options: Pick<LiveViewOptions, 'width' | 'height' | 'color'> & { readonly screen: Screen },
): string {
  const { width, height, color, screen } = options
  const room = Math.max(1, height - 1)
  const first = Math.min(screen.scrolled, Math.max(0, lines.length - room))
  return [...lines.slice(first, first + room), drawnLine(footLine(screen), width, color)].join('\n')
}

// The waterfall of a pipeline in `pipespan top`. While the pipeline is running, the bars of its running jobs end at the current time.
export function liveWaterfall(pipeline: LivePipeline, options: WaterfallOptions): string[] {
  const { name, ref = '', status, createdAt, finishedAt, platformNow, jobs } = pipeline
  const end = finishedAt ?? platformNow
  const root: WaterfallSpan = {
    ...{ name: `pipeline: ${name ?? ref}`, kind: 'pipeline', traceId: '', spanId: 'pipeline' },
    ...{ start: createdAt ?? end, end, status: spanStatusOf(status) },
    attributes: { 'pipeline.status': status, 'pipeline.stages': [...new Set(jobs.map(({ stage }) => stage))] },
  }
  return waterfall([root, ...jobs.map((job, index) => jobSpan(job, index, end))], options).split('\n')
}

function jobSpan(job: LiveJob, index: number, now: number): WaterfallSpan {
  const { name, kind, stage, status, allowFailure, retried, startedAt, finishedAt, queuedMs, failureReason } = job
  const ended = finishedAt ?? (isTerminal(status) ? (startedAt ?? now) : now)
  const waited = startedAt === undefined && isActive(status) ? now - (job.createdAt ?? now) : queuedMs
  return {
    ...{ name: `job: ${name}`, kind: 'job', traceId: '', spanId: `job ${index}`, parentSpanId: 'pipeline' },
    ...{ start: startedAt ?? ended, end: ended, status: spanStatusOf(status) },
    attributes: {
      ...{ 'job.status': status, 'job.stage': stage, 'job.type': kind, 'job.retried': retried },
      ...{ 'job.allow_failure': allowFailure, 'job.failure_reason': failureReason },
      'job.queued_duration': waited,
      ...(startedAt === undefined && { 'job.duration': 0 }),
    },
  }
}

function spanStatusOf(status: string): WaterfallSpan['status'] {
  return status === 'success' ? 'ok' : status === 'failed' ? 'error' : 'unset'
}

// The state of the `pipespan top` screen, and how keys change it. Pure.
interface Screen {
  /** The key of the selected pipeline. The pipeline stays selected when its line moves. */
  readonly selected?: string | undefined
  /** Only pipelines whose status or names contain this string are listed. If it is empty, all pipelines are listed. */
  readonly filter: string
  /** Whether pressed keys are added to the filter. */
  readonly isTyping: boolean
  /** The key of the pipeline whose waterfall is shown. */
  readonly opened?: string | undefined
  /** The number of waterfall lines above the top of the screen. */
  readonly scrolled: number
}

export const firstScreen: Screen = { filter: '', isTyping: false, scrolled: 0 }

/** A key press as `readline` reports it. */
export interface Key {
  readonly name?: string | undefined
  readonly sequence?: string | undefined
  readonly ctrl?: boolean | undefined
  readonly meta?: boolean | undefined
}

/**
 * Returns the state of the screen after a key press. `keys` are the keys of the listed pipelines, in order. `page` is the number of lines on a page.
 */
export function pressed(
  screen: Screen,
  key: Key,
  { keys, page }: { readonly keys: readonly string[]; readonly page: number },
): Screen | 'quit' {
  if (key.ctrl === true && (key.name === 'c' || key.name === 'd')) return 'quit'
  if (screen.isTyping) return typed(screen, key, keys)
  if (key.name === 'q') return 'quit'
  if (screen.opened !== undefined) return inWaterfall(screen, key, page)
  switch (key.name) {
    case 'return':
    case 'enter':
    case 'right': {
      const chosen = selectedAmong(screen, keys) ?? keys[0]
      return chosen === undefined ? screen : { ...screen, selected: chosen, opened: chosen, scrolled: 0 }
    }
    case 'escape':
      return { ...screen, filter: '', selected: screen.filter === '' ? undefined : screen.selected }
    default:
      if (key.sequence === '/') return { ...screen, isTyping: true }
      return moved(screen, key, keys, page)
  }
}

function moved(screen: Screen, { name }: Key, keys: readonly string[], page: number): Screen {
  const chosen = selectedAmong(screen, keys)
  const at = chosen === undefined ? -1 : keys.indexOf(chosen)
  const to = targetOf(name, at, page, keys.length - 1)
  if (to === undefined || keys.length === 0) return screen
  return { ...screen, selected: keys[Math.min(keys.length - 1, Math.max(0, to))] }
}

function inWaterfall(screen: Screen, { name }: Key, page: number): Screen {
  if (name === 'escape' || name === 'left' || name === 'backspace') return { ...screen, opened: undefined, scrolled: 0 }
  const to = targetOf(name, screen.scrolled, page, Number.MAX_SAFE_INTEGER)
  return to === undefined ? screen : { ...screen, scrolled: Math.max(0, to) }
}

function targetOf(name: string | undefined, at: number, page: number, last: number): number | undefined {
  const steps: Readonly<Record<string, number>> = { up: at - 1, k: at - 1, down: at + 1, j: at + 1, home: 0, end: last }
  if (name === 'pageup') return at - page
  if (name === 'pagedown') return at + page
  return name === undefined ? undefined : steps[name]
}

function typed(screen: Screen, key: Key, keys: readonly string[]): Screen {
  const { name, sequence = '', ctrl, meta } = key
  switch (name) {
    case 'return':
    case 'enter':
      return { ...screen, isTyping: false, selected: selectedAmong(screen, keys) ?? keys[0] }
    case 'escape':
      return { ...screen, isTyping: false, filter: '' }
    case 'backspace':
      return { ...screen, filter: withoutLast(screen.filter) }
    case 'up':
    case 'down':
      return moved(screen, key, keys, 1)
    default:
      if (ctrl === true || meta === true || /\p{C}/u.test(sequence)) return screen
      return { ...screen, filter: screen.filter + sequence }
  }
}

/** Returns the key of the selected pipeline, or undefined if the pipeline is no longer listed. */
function selectedAmong({ selected }: Screen, keys: readonly string[]): string | undefined {
  return selected !== undefined && keys.includes(selected) ? selected : undefined
}
