// Deliveries that were accepted and are not found. Their file may be away for a moment while the writer still has it by its descriptor,
// and puts it back; so they are given up only by a reading that began after the writer had looked at everything.
import type { WalPositions, Position } from './positions.ts'

export interface Missed {
  /** The end of the WAL when they were first missed: what was accepted later is not among them. */
  readonly end: Position
  /** The writer's looks since then are counted from here. */
  readonly looks: number
  /** Its looks when the last reading began that did not find them. */
  readonly read: number
}

export interface Reading {
  /** The writer's looks when it began. */
  readonly looks: number
  /** What it does not find either is gone. */
  readonly isLast: boolean
}

/** A look may be under way when something is first missed: the one after it has begun since. */
const looksNeeded = 2

/** Undefined where nothing can have changed since they were last missed. */
export function beginReading({ looks }: WalPositions, missed: Missed | undefined): Reading | undefined {
  if (missed?.read === looks) return undefined
  return { looks, isLast: missed !== undefined && looks - missed.looks >= looksNeeded }
}

export function missedBy({ looks: read }: Reading, before: Missed | undefined, positions: WalPositions): Missed {
  // The end before the looks: they are to come after all that it has.
  const { end, looks } = before ?? { end: positions.end, looks: positions.looks }
  return { end, looks, read }
}
