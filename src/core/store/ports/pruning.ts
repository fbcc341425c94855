// Deletes rows that are no longer needed, in small steps, so that nothing else waits. `maintenance.ts` decides which and when.
import type { ExportQueue } from './outbox.ts'
import type { Millis } from '../../../model/instant.ts'

/** How far a round has come. */
export interface RunCursor {
  readonly changedAt: Millis
  readonly id: number
}

export interface RunsPruned {
  readonly pruned: number
  /** How many of them left a tombstone. */
  readonly remembered: number
  /** Where the next step continues; undefined at the end. */
  readonly next?: RunCursor | undefined
}

export interface Pruning {
  /**
   * Checks the next `limit` runs that are not due and last changed before `before`. Those without a snapshot since then are deleted with
   * their jobs and chunks; a tombstone remembers what was sent. What is pending of them stays.
   */
  runs(before: Millis, limit: number, from: RunCursor | undefined): Promise<RunsPruned>
  /** Tombstones of runs pruned before `before`. Returns how many, like the following methods. */
  tombstones(before: Millis, limit: number): Promise<number>
  /** Events stored before `before`. What is pending of them stays. */
  events(before: Millis, limit: number): Promise<number>
  /** Those refused before `before`. */
  deadLetters(before: Millis, limit: number): Promise<number>
  /** Entries pending since before `before` for a queue that is no longer configured. */
  unserved(queue: ExportQueue, before: Millis, limit: number): Promise<number>
  /** Those received before `before`. */
  quarantinedDeliveries(before: Millis, limit: number): Promise<number>
  /** Idempotency keys first seen before `before`. */
  keys(before: Millis, limit: number): Promise<number>
  /** The share of the size limit that is in use: at 1, deliveries are refused. */
  fullness(): Promise<number>
  /** Returns unused space to the file system unless it is likely to be reused soon. The result is the number of bytes, 0 at the end. */
  giveBack(): Promise<number>
}
