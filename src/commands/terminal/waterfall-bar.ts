// Draws time in a line of text: bars on a common axis, and the axis.
import { durationText } from '../../model/instant.ts'

/** The common time range of all bars, Unix ms, and its width in columns. */
export interface Axis {
  readonly start: number
  readonly end: number
  readonly columns: number
}

/** A bar in three pieces: empty, queued, ran. */
export interface Bar {
  readonly before: string
  readonly queued: string
  readonly ran: string
}

/** A bar that ran from `start` to `end` after it queued for `queued` ms. The piece that ran has at least one column. */
export function barOf(axis: Axis, start: number, end: number, queued: number): Bar {
  const last = axis.columns - 1
  const from = Math.min(last, column(axis, start))
  const to = Math.min(axis.columns, Math.max(from + 1, column(axis, end)))
  const waiting = Math.min(from, column(axis, start - queued))
  return { before: ' '.repeat(waiting), queued: '░'.repeat(from - waiting), ran: '█'.repeat(to - from) }
}

/** A point, for jobs that took no time. */
export function pointOf(axis: Axis, at: number): Bar {
  return { before: ' '.repeat(Math.min(axis.columns - 1, column(axis, at))), queued: '', ran: '·' }
}

/** Only the piece that queued; a point if it is too short. */
export function waitOf(axis: Axis, until: number, queued: number): Bar {
  const { before, queued: waited } = barOf(axis, until, until, queued)
  return waited === '' ? pointOf(axis, until) : { before, queued: waited, ran: '' }
}

/** The labels of the axis: start, middle if there is room, end. */
export function axisText({ start, end, columns }: Axis): string {
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
