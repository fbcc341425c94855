// Which deliveries of the journal are understood: all up to one, and some beyond it, as they are not understood in their order.
// Pure; the row that keeps it is written in the transaction that takes the deliveries in.
import type { Mark } from './positions.ts'

/** Deliveries one after the other, most often a single one. */
export interface Stretch {
  readonly from: number
  readonly to: number
  /** Of all their bodies. */
  readonly bytes: number
}

export interface Progress {
  /** Everything up to here is understood. */
  readonly to: Mark
  /** And these beyond, by where they begin. */
  readonly beyond: ReadonlyMap<number, Stretch>
}

export function isUnderstood({ to, beyond }: Progress, seq: number): boolean {
  return seq <= to.seq || beyond.has(seq)
}

export function alsoUnderstood(known: Progress, understood: readonly Stretch[]): Progress {
  const beyond = new Map(known.beyond)
  for (const one of understood) if (one.to > known.to.seq) beyond.set(one.from, one)
  let { seq, bytes } = known.to
  for (let next = beyond.get(seq + 1); next !== undefined; next = beyond.get(seq + 1)) {
    beyond.delete(next.from)
    seq = next.to
    bytes += next.bytes
  }
  for (const [from, { to }] of beyond) if (to <= seq) beyond.delete(from)
  return { to: { seq, bytes }, beyond }
}

/** The end of all that is understood; its bytes are those of what is understood. */
export function lastUnderstood({ to, beyond }: Progress): Mark {
  const stretches = [...beyond.values()]
  return {
    seq: Math.max(to.seq, ...stretches.map(one => one.to)),
    bytes: stretches.reduce((sum, one) => sum + one.bytes, to.bytes),
  }
}

/** Those after `after` and before `before` that are not understood, as stretches. */
export function notUnderstood({ to, beyond }: Progress, after: number, before: number): { from: number; to: number }[] {
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

/** Deliveries and bytes between what is understood and the end. */
export function waitingUpTo({ to, beyond }: Progress, end: Mark): { readonly waiting: number; readonly bytes: number } {
  let waiting = end.seq - to.seq
  let bytes = end.bytes - to.bytes
  for (const stretch of beyond.values()) {
    waiting -= stretch.to - stretch.from + 1
    bytes -= stretch.bytes
  }
  return { waiting, bytes }
}
