// Deliveries that were accepted and are not found. Their file may be away for a moment while the writer still has it by its descriptor,
// and puts it back; so they are given up only by a reading that began after the writer had looked at everything.
import type { WalPositions, Position } from './positions.ts'

export interface Missed {
  /** The end of the WAL when they were first missed: what was accepted later is not among them. */
  readonly end: Position
  /** How often the writer had looked at its files (`WalPositions.looks`) when they were first missed. */
  readonly looks: number
  /** How often it had looked when the last reading began that did not find them. */
  readonly read: number
}

export interface Reading {
  /** How often the writer had looked at its files when this reading began. */
  readonly looks: number
  /** The writer has had time to put back what it can: what this reading does not find is gone. */
  readonly isLast: boolean
}

/** The look that is under way when something is first missed may be past its file already; the one after it is not. */
const looksNeeded = 2

/** Undefined where nothing can have changed since they were last missed. */
export function beginReading({ looks }: WalPositions, missed: Missed | undefined): Reading | undefined {
  if (missed?.read === looks) return undefined
  return { looks, isLast: missed !== undefined && looks - missed.looks >= looksNeeded }
}

export function missedBy({ looks: read }: Reading, before: Missed | undefined, positions: WalPositions): Missed {
  // The end is read first: a look that is counted after it has seen all files up to that end.
  const { end, looks } = before ?? { end: positions.end, looks: positions.looks }
  return { end, looks, read }
}
