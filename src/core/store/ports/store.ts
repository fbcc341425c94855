// The store as the rest of the program sees it. `open-store.ts` chooses the database; the same tests run on both.
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
  /** Unix time, ms. PostgreSQL uses its own clock. */
  readonly now: () => number
  /** Monotonic ms, for leases in memory; `now` if it is missing. */
  readonly elapsed?: (() => number) | undefined
  /** At this size, in bytes, the store refuses deliveries. */
  readonly maxSize: number
  /** How chunks become messages. This is done in the transaction that writes them, because it still adds to what is sent. */
  readonly encode: EncodeMessages
  /** The tables of features. */
  readonly parts?: readonly StorePart[] | undefined
  readonly log?: Log | undefined
  /** SQLite: the file is damaged. The process that serves it ends; the statement that met the damage throws the same fault. */
  readonly onDamage?: ((fault: StoreError) => void) | undefined
}

export interface Store {
  /** How many runs one transaction should change: few on SQLite, where others wait; many on PostgreSQL, where statements are round trips. */
  readonly runsPerTransaction: number
  /** How many groups of deliveries may be taken in at the same time. */
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
  /** The parts that features have added. */
  readonly parts: readonly StorePart[]
  readonly on: On
  readonly views: Views
  /** What people may read. */
  readonly reads: (scope: Scope) => Reads
  readonly quarantine: Quarantine
  /** Damaged rows that were skipped since the start. */
  readonly damaged: { readonly count: number }
  /** The store's clock, which gives all of its times: that of the database's host. */
  now(): Promise<Millis>
  /** Makes rows due whose time is impossibly distant, because a clock was ahead (`too-far-ahead.ts`). Returns how many. */
  bringBack(): Promise<number>
  /** SQLite: false while its files are not those that were opened (`StoreGone`). Undefined: it has no files. */
  isInPlace?(): boolean
  /** Its size limit is reached: deliveries are refused. */
  isFull(): Promise<boolean>
  /** Writes and reads back a row; throws StoreError if that fails. */
  proveWritable(): Promise<void>
  /** Ends the leases of a crashed process. Only on SQLite, which one process serves; on PostgreSQL leases expire. */
  reclaim(): Promise<void>
  close(): Promise<void>
}

/** Counters that survive the process: dropped, rejected, pruned. */
export interface Counters {
  add(name: string, by: number): Promise<void>
  all(): Promise<ReadonlyMap<string, number>>
}

/** What a command may do with a store while a daemon may be serving it. */
export type SharedStore = Omit<Store, 'reclaim'>

// Leases: among all processes that share the store, only the holder does a certain job.

export interface Leases {
  /** True if `holder` has the lease for the next `ms`: it was free, had expired, or was the holder's already. */
  take(name: string, holder: string, ms: number): Promise<boolean>
  /** Does nothing if another holder has it. */
  release(name: string, holder: string): Promise<void>
}
