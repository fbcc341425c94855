// Draws the state of a daemon as lines of text: what runs, waits and fails. Pure. `pipespan top` calls it every second.
import { durationText } from './waterfall-bar.ts'

/** The part of `GET /api/overview` that is drawn. Times are Unix ms. */
export interface LiveState {
  readonly notices: readonly { readonly level: 'problem' | 'hint'; readonly what: string; readonly remedy: string }[]
  readonly flow: { readonly received: number; readonly attempts: number; readonly lastAccepted?: number | undefined }
  readonly inbox: { readonly waiting: number; readonly quarantined: number; readonly oldest?: number | undefined }
  readonly queues: readonly LiveQueue[]
  readonly active: number
  readonly running: readonly LivePipeline[]
  readonly finished: readonly LivePipeline[]
}

export interface LiveQueue {
  readonly destination: string
  readonly signal: string
  readonly state: string
  readonly pending: number
  readonly dead: number
  readonly oldest?: number | undefined
  readonly counters: Readonly<Record<string, number>>
}

export interface LivePipeline {
  readonly project: string
  readonly pipelineId: number
  readonly status: string
  readonly ref?: string | undefined
  readonly spentMs?: number | undefined
  readonly finishedAt?: number | undefined
  readonly jobs: readonly { readonly name: string; readonly status: string; readonly retried: boolean }[]
  readonly failures: readonly { readonly name: string }[]
}

export interface LiveViewOptions {
  /** The daemon's address, for the first line. */
  readonly from: string
  readonly now: number
  /** Columns; longer lines are cut. */
  readonly width: number
  /** Maximum number of lines; the lists are cut to fit. */
  readonly height: number
  readonly color: boolean
}

const paint = { red: 31, green: 32, yellow: 33, blue: 34, dim: 2, bold: 1 } as const
type Paint = keyof typeof paint

/** A piece of a line, and its colour. */
type Piece = string | readonly [Paint, string]

/** The picture, without a final line feed. */
export function liveView(state: LiveState, { from, now, width, height, color }: LiveViewOptions): string {
  const { notices, flow, inbox, queues, active, running, finished } = state
  const ago = (at: number | undefined): string =>
    at === undefined ? 'never' : `${durationText(Math.max(0, now - at))} ago`
  const oldest = (at: number | undefined): string => (at === undefined ? '' : `, oldest ${ago(at)}`)
  const head: Piece[][] = [
    [['bold', `Pipespan at ${from}`], `  ${new Date(now).toISOString().slice(0, 19).replace('T', ' ')} UTC`],
    [
      `received ${flow.received}, last accepted ${ago(flow.lastAccepted)}; inbox ${inbox.waiting} waiting${oldest(inbox.oldest)}`,
      ...(inbox.quarantined > 0 ? [['red', `, ${inbox.quarantined} quarantined`] as const] : []),
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
  const room = Math.max(2, height - head.length - 3)
  const runs = running.slice(0, Math.max(1, Math.floor(room / 2)))
  const ended = finished.slice(0, Math.max(1, room - Math.max(1, runs.length)))
  const lines: Piece[][] = [
    ...head,
    [['dim', `RUNNING ${active > runs.length ? `(the newest ${runs.length} of ${active})` : `(${active})`}`]],
    ...(runs.length === 0 ? [['  nothing runs']] : runs.map(one => pipelineLine(one))),
    [],
    [['dim', 'LAST FINISHED']],
    ...(ended.length === 0 ? [['  none yet']] : ended.map(one => pipelineLine(one))),
  ]
  // A screen that is too small for notices and queues shows the first lines.
  return lines
    .slice(0, height)
    .map(line => drawn(line, width, color))
    .join('\n')
}

const marks: Readonly<Record<string, readonly [Paint, string]>> = {
  success: ['green', '✓'],
  failed: ['red', '✗'],
  canceled: ['yellow', '■'],
  running: ['blue', '▶'],
}

function pipelineLine(pipeline: LivePipeline): Piece[] {
  const { project, pipelineId, status, ref, spentMs, finishedAt, jobs, failures } = pipeline
  const counted = jobs.filter(({ retried }) => !retried)
  const count = (...wanted: string[]): number => counted.filter(job => wanted.includes(job.status)).length
  const took = spentMs === undefined ? '' : durationText(spentMs)
  const rest =
    finishedAt === undefined
      ? `${count('success')} of ${counted.length} jobs done, ${count('running')} running, ${count('pending', 'created', 'preparing')} waiting`
      : `${counted.length} jobs`
  return [
    '  ',
    marks[status] ?? ['dim', '·'],
    ` ${project} #${pipelineId} ${ref ?? ''}  `,
    ['dim', `${took}  ${rest}`],
    ...(failures.length > 0 ? [['red', `  ${failures.map(({ name }) => name).join(', ')}`] as const] : []),
  ]
}

/** Replaces control characters, which names from outside may contain. */
function drawn(line: readonly Piece[], width: number, color: boolean): string {
  let left = width
  let text = ''
  for (const piece of line) {
    const [style, words] = typeof piece === 'string' ? [undefined, piece] : piece
    const shown = words.replace(/\p{C}+/gu, ' ').slice(0, left)
    left -= shown.length
    text += style !== undefined && color && shown !== '' ? `\x1b[${paint[style]}m${shown}\x1b[0m` : shown
  }
  return text.trimEnd()
}
