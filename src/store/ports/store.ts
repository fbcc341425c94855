// The store as the rooms see it. `open-store.ts` chooses the database by URL; both keep the same promises (one exercise tests both).
import type { Changes } from './changes.ts'
import type { Deployments } from './deployments.ts'
import type { EnrichmentQueue } from './enrichment-queue.ts'
import type { Outbox } from './outbox.ts'
import type { Incidents } from './incidents.ts'
import type { Inbox, SharedInbox } from './inbox.ts'
import type { Log } from '../../lib/log.ts'
import type { Millis } from '../../model/instant.ts'
import type { JobReads } from './job-reads.ts'
import type { Leases } from './leases.ts'
import type { Pruning } from './pruning.ts'
import type { Repositories } from './repository.ts'
import type { Runs } from './runs.ts'
import type { Tables } from './tables.ts'
import type { TestMemory } from './test-memory.ts'
import type { Totals } from './totals.ts'
import type { UnderWay } from './under-way.ts'
import type { Views } from './views.ts'

export interface StoreOptions {
  /** Milliseconds of Unix time; the database's clock where it has one. */
  readonly now: () => number
  /** Milliseconds by a clock that nobody sets, for leases held in memory; `now` where it is missing. */
  readonly elapsed?: (() => number) | undefined
  /** Bytes the store may hold before it takes no more deliveries. */
  readonly maxSize: number
  /** Bytes that are remembered of the tests of one project; `testMemoryBytes` where it is missing. */
  readonly testMemory?: number | undefined
  /** For what an operator must know. */
  readonly log?: Log | undefined
}

export interface Store {
  /** How many runs one transaction should change: where others wait for it few, where each statement is a message many. */
  readonly runsPerTransaction: number
  readonly inbox: Inbox
  readonly runs: Runs
  readonly outbox: Outbox
  readonly enrichment: EnrichmentQueue
  readonly jobReads: JobReads
  readonly repositories: Repositories
  readonly leases: Leases
  readonly counters: Counters
  readonly pruning: Pruning
  readonly tables: Tables
  readonly totals: Totals
  readonly tests: TestMemory
  readonly deployments: Deployments
  readonly changes: Changes
  readonly incidents: Incidents
  readonly views: Views
  readonly underWay: UnderWay
  /** Rows that were passed over since start, because what is stored in them is damaged. */
  readonly damaged: { readonly count: number }
  /** The store's clock, by which all of its times are: another one than this host's, where the database is on another host. */
  now(): Promise<Millis>
  /** What waits for a time further ahead than anything is put off is due now (`too-far-ahead.ts`). Answers how many rows. */
  bringBack(): Promise<number>
  /** Writes and reads back a row: throws StoreError when the store does not take writes. */
  proveWritable(): Promise<void>
  /**
   * Gives back at once what a dead process had leased. Only where one process is known to serve the store alone (SQLite);
   * elsewhere leases run out by themselves.
   */
  reclaim(): Promise<void>
  /**
   * Moves what waits in files beside the database, and what waits to be written for many at once, into its tables (SQLite), so
   * that the tables are all there is. Only where nobody serves the store.
   */
  intoTables(): Promise<void>
  close(): Promise<void>
}

/** Totals that outlive the process: what was dropped, rejected, pruned. Never silent. */
export interface Counters {
  add(name: string, by: number): Promise<void>
  all(): Promise<ReadonlyMap<string, number>>
}

/**
 * What a process may do with a store that another one may be serving: no inbox to work off, nothing to give back or to move. Only
 * who opened the store as its own has the rest.
 */
export interface SharedStore extends Omit<Store, 'inbox' | 'underWay' | 'reclaim' | 'intoTables'> {
  readonly inbox: SharedInbox
}
