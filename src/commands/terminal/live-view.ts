// Draws the state of a daemon as lines of text: what runs, waits and fails. Pure. `pipespan top` calls it every second.
import { durationText } from '../../model/instant.ts'
import { drawnLine, type Piece } from './painted-line.ts'
import { keyOf, matches, type LivePipeline, type LiveState } from './live-state.ts'
import { pipelineRows } from './pipeline-rows.ts'
import type { Screen } from './live-screen.ts'

interface LiveViewOptions {
  /** The daemon's address, for the first line. */
  readonly from: string
  readonly now: number
  /** Columns; longer lines are cut. */
  readonly width: number
  /** Maximum number of lines; the lists are cut to fit. */
  readonly height: number
  readonly color: boolean
  /** What is selected and filtered; undefined: nothing can be, and no keys are shown. */
  readonly screen?: Screen | undefined
}

/** The pipelines that are listed, in their order. */
export function listedPipelines({ running, finished }: LiveState, filter: string): LivePipeline[] {
  return [...running, ...finished].filter(one => matches(one, filter))
}

/** The picture, without a final line feed. */
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
  // A screen that is too small for notices and queues shows the first lines.
  return [...lines.slice(0, height - foot.length), ...foot].map(line => drawnLine(line, width, color)).join('\n')
}

/** `count` lines around the line `at`; the first ones if it is -1. */
function around<T>(lines: readonly T[], at: number, count: number): readonly T[] {
  const first = Math.max(0, Math.min(lines.length - count, at - Math.floor(count / 2)))
  return lines.slice(first, first + count)
}

/** How many lines of each list are shown. What one does not need is the other's. */
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
      `, ${queue.pending} pending${oldest(queue.oldest)}, ${queue.counters.delivered ?? 0} delivered`,
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

/** The waterfall of a pipeline, as a screen. `lines`: all of it. */
export function waterfallView(
  lines: readonly string[],
  options: Pick<LiveViewOptions, 'width' | 'height' | 'color'> & { readonly screen: Screen },
): string {
  const { width, height, color, screen } = options
  const room = Math.max(1, height - 1)
  const first = Math.min(screen.scrolled, Math.max(0, lines.length - room))
  return [...lines.slice(first, first + room), drawnLine(footLine(screen), width, color)].join('\n')
}
