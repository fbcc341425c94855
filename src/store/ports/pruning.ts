// What the store gives up again: one small step at a time, so that nobody waits for it. `maintenance.ts` decides what and when.
import type { ExportQueue } from './outbox.ts'
import type { Millis } from '../../model/instant.ts'

/** How far a round has come among the runs at rest. */
export interface RunCursor {
  readonly changedAt: Millis
  readonly id: number
}

export interface RunsPruned {
  readonly pruned: number
  /** How many of them left a tombstone. */
  readonly remembered: number
  /** Where the next step goes on; undefined when all were looked at. */
  readonly next?: RunCursor | undefined
}

export interface Pruning {
  /**
   * Looks at the next `limit` runs at rest that last changed before `before`, and removes those of which nothing is pending and
   * nothing was sent since then, with their jobs, chunks and outbox entries. A tombstone remembers what of them was sent.
   */
  runs(before: Millis, limit: number, from: RunCursor | undefined): Promise<RunsPruned>
  /** Forgets tombstones of runs pruned before `before`. Answers how many, as all of these do. */
  tombstones(before: Millis, limit: number): Promise<number>
  /** Removes events taken in before `before` of which nothing is pending and nothing was sent since then. */
  events(before: Millis, limit: number): Promise<number>
  /** Gives up dead letters refused before `before`. */
  deadLetters(before: Millis, limit: number): Promise<number>
  /** Gives up what was pending for a queue before `before`: for queues that nobody serves any more. */
  unserved(queue: ExportQueue, before: Millis, limit: number): Promise<number>
  /** Forgets deliveries that could not be decoded and came before `before`. */
  quarantinedDeliveries(before: Millis, limit: number): Promise<number>
  /** Forgets idempotency keys first seen before `before`. */
  keys(before: Millis, limit: number): Promise<number>
  /** How much of what the store may hold is in use: 1 at the limit, where no more deliveries are taken. */
  fullness(): Promise<number>
  /** Gives unused space back to the file system; answers the bytes, 0 when there is no more to give. */
  giveBack(): Promise<number>
}
