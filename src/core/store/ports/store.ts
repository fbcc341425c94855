// The interface of the store. `open-store.ts` chooses the database, and the same tests run on both databases.
import type { EnrichmentQueue } from './enrichment-queue.ts'
import type { EncodeMessages, Outbox } from './outbox.ts'
import type { Log } from '../../../lib/log.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Pruning } from '../sql/pruning.ts'
import type { Quarantine } from './quarantine.ts'
import type { Repositories } from './repository.ts'
import type { Reads } from './reads.ts'
import type { Runs } from './runs.ts'
import type { Scope } from './scope.ts'
import type { On, StorePart } from './store-part.ts'
import type { StoreError } from '../../../lib/fault.ts'
import type { Tables } from '../sql/tables.ts'
import type { Totals } from './totals.ts'
import type { Views } from './views.ts'

export interface StoreOptions {
  /** Returns the Unix time in ms. PostgreSQL uses its own clock instead. */
  readonly now: () => number
  /** Returns monotonic ms, for leases in memory. If it is missing, `now` is used. */
  readonly elapsed?: (() => number) | undefined
  /** The size in bytes at which the store starts to reject deliveries. */
  readonly maxSize: number
  /** Encodes chunks as messages. It is called within the transaction that writes the chunks, because that transaction still adds data to them. */
  readonly encode: EncodeMessages
  readonly parts?: readonly StorePart[] | undefined
  readonly log?: Log | undefined
  /**
   * Called when an SQLite file is found to be damaged, so that the serving process can exit. The statement that found the damage throws the same
   * error.
   */
  readonly onDamage?: ((fault: StoreError) => void) | undefined
}

export interface Store {
  /**
   * How many runs to change in one transaction. The number is low on SQLite, where other writers wait, and high on PostgreSQL, where each statement
   * is a round trip.
   */
  readonly runsPerTransaction: number
  /** How many groups of deliveries may be processed concurrently. Each group is committed in one transaction. */
  readonly groupsAtOnce: number
  readonly runs: Runs
  readonly outbox: Outbox
  readonly enrichment: EnrichmentQueue
  readonly repositories: Repositories
  readonly leases: Leases
  readonly counters: Counters
  readonly pruning: Pruning
  readonly tables: Tables
  readonly totals: Totals
  readonly parts: readonly StorePart[]
  readonly on: On
  readonly views: Views
  /** Returns the queries that people may run within their scope. */
  readonly reads: (scope: Scope) => Reads
  readonly quarantine: Quarantine
  /** The number of damaged rows that were skipped since the start. */
  readonly damaged: { readonly count: number }
  /** The time on the store's clock, which is the clock of the database host. All stored times come from it. */
  now(): Promise<Millis>
  /** Makes rows due whose due time is impossibly far in the future because a clock was ahead (`too-far-ahead.ts`). Returns the number of rows. */
  bringBack(): Promise<number>
  /** Whether SQLite's files are still the ones that were opened (`StoreGone`). Not defined on PostgreSQL, which has no such files. */
  isInPlace?(): boolean
  /** Whether the store has reached its size limit and rejects deliveries. */
  isFull(): Promise<boolean>
  /** Writes a row and reads it back. Throws StoreError if that fails. */
  proveWritable(): Promise<void>
  /** Ends the leases of a crashed process. Only SQLite needs this, because a single process serves it; on PostgreSQL the leases expire. */
  reclaim(): Promise<void>
  close(): Promise<void>
}

/** Counters that survive a restart of the daemon: dropped, rejected, pruned. */
export interface Counters {
  add(name: string, by: number): Promise<void>
  all(): Promise<ReadonlyMap<string, number>>
}

/** The store's interface for commands, which may use the store while a daemon is serving it. */
export type SharedStore = Omit<Store, 'reclaim'>

// Leases: among all processes that share the store, only the holder of a lease does the work that the lease is named for.

export interface Leases {
  /** Returns true if `holder` now has the lease for the next `ms`: the lease was free, had expired, or already belonged to `holder`. */
  take(name: string, holder: string, ms: number): Promise<boolean>
  /** Releases the lease. Does nothing if another holder has it. */
  release(name: string, holder: string): Promise<void>
}
