// Accepted deliveries that are not found. Their file may have been moved away while the writer still has it open and will write it again. So they
// are given up only by a reading that began after the writer has checked all of its files.
import type { WalPositions, Position } from './positions.ts'

export interface Missed {
  /** The end of the WAL when they were first missed: later deliveries are not among them. */
  readonly end: Position
  /** `WalPositions.looks` when they were first missed. */
  readonly looks: number
  /** `WalPositions.looks` when the last reading without success began. */
  readonly read: number
}

export interface Reading {
  /** `WalPositions.looks` when this reading began. */
  readonly looks: number
  /** The writer has written again what it can: what this reading does not find is gone. */
  readonly isLast: boolean
}

/** A check that is under way when something is first missed may have passed its file already, so it takes another one. */
const looksNeeded = 2

/** Undefined if nothing can have changed since the last reading. */
export function beginReading({ looks }: WalPositions, missed: Missed | undefined): Reading | undefined {
  if (missed?.read === looks) return undefined
  return { looks, isLast: missed !== undefined && looks - missed.looks >= looksNeeded }
}

export function missedBy({ looks: read }: Reading, before: Missed | undefined, positions: WalPositions): Missed {
  // The end is read before `looks`: checks counted later have covered all files up to it.
  const { end, looks } = before ?? { end: positions.end, looks: positions.looks }
  return { end, looks, read }
}
