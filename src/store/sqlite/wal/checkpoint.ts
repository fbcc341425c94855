// Which deliveries of the write-ahead log (WAL) are processed: all up to one, and some beyond it, as they are not processed in their order.
// Pure; its row is written in the transaction that takes the deliveries in.
import type { Position } from './positions.ts'

/** Deliveries one after the other, most often a single one. */
export interface Stretch {
  readonly from: number
  readonly to: number
  /** Of all their bodies. */
  readonly bytes: number
}

export interface Checkpoint {
  /** Everything up to here is processed. */
  readonly to: Position
  /** And these beyond, by where they begin. */
  readonly beyond: ReadonlyMap<number, Stretch>
}

export function isProcessed({ to, beyond }: Checkpoint, seq: number): boolean {
  return seq <= to.seq || beyond.has(seq)
}

export function alsoProcessed(known: Checkpoint, processed: readonly Stretch[]): Checkpoint {
  const beyond = new Map(known.beyond)
  for (const one of processed) if (one.to > known.to.seq) beyond.set(one.from, one)
  let { seq, bytes } = known.to
  for (let next = beyond.get(seq + 1); next !== undefined; next = beyond.get(seq + 1)) {
    beyond.delete(next.from)
    seq = next.to
    bytes += next.bytes
  }
  for (const [from, { to }] of beyond) if (to <= seq) beyond.delete(from)
  return { to: { seq, bytes }, beyond }
}

/** The end of all that is processed; its bytes are those of what is processed. */
export function lastProcessed({ to, beyond }: Checkpoint): Position {
  const stretches = [...beyond.values()]
  return {
    seq: Math.max(to.seq, ...stretches.map(one => one.to)),
    bytes: stretches.reduce((sum, one) => sum + one.bytes, to.bytes),
  }
}

/** Those after `after` and before `before` that are not processed, as stretches. */
export function notProcessed(
  { to, beyond }: Checkpoint,
  after: number,
  before: number,
): { from: number; to: number }[] {
  const gaps: { from: number; to: number }[] = []
  let from = Math.max(after, to.seq) + 1
  for (const stretch of [...beyond.values()].sort((a, b) => a.from - b.from)) {
    if (stretch.to < from) continue
    if (stretch.from >= before) break
    if (stretch.from > from) gaps.push({ from, to: stretch.from - 1 })
    from = stretch.to + 1
  }
  if (from < before) gaps.push({ from, to: before - 1 })
  return gaps
}

/** Deliveries and bytes between what is processed and the end. */
export function waitingUpTo(
  { to, beyond }: Checkpoint,
  end: Position,
): { readonly waiting: number; readonly bytes: number } {
  let waiting = end.seq - to.seq
  let bytes = end.bytes - to.bytes
  for (const stretch of beyond.values()) {
    waiting -= stretch.to - stretch.from + 1
    bytes -= stretch.bytes
  }
  return { waiting, bytes }
}
