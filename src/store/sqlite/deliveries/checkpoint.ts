// Which accepted deliveries are processed: all up to one, and some beyond it, because they are not processed in order. Example:
// 1 to 7 and 9, while 8 is being processed. Pure; it is stored in the transaction that applies the deliveries.
import type { Position } from './positions.ts'

/** Consecutive deliveries. */
export interface Gap {
  readonly from: number
  readonly to: number
}

/** Most often a single one. */
export interface Stretch extends Gap {
  /** Sum over their bodies. */
  readonly bytes: number
}

export interface Checkpoint {
  /** Everything up to here is processed. */
  readonly to: Position
  /** And these beyond, by their `from`. */
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

/** The last processed delivery, and the bytes of all processed ones. */
export function lastProcessed({ to, beyond }: Checkpoint): Position {
  const stretches = [...beyond.values()]
  return {
    seq: Math.max(to.seq, ...stretches.map(one => one.to)),
    bytes: stretches.reduce((sum, one) => sum + one.bytes, to.bytes),
  }
}

/** The unprocessed deliveries between `after` and `before`, both excluded. */
export function notProcessed({ to, beyond }: Checkpoint, after: number, before: number): Gap[] {
  const gaps: Gap[] = []
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

/** The number of unprocessed deliveries up to the end, and their bytes. */
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
