// The queue of pending reads of the inside of jobs. An entry is written in one transaction with the chunk of the job's span, and
// removed in one transaction with the chunks of its result. So no result is put into the outbox twice, even after a crash.
import type { Chunk } from '../../../model/chunk.ts'
import { allReportTypes, type ReportType } from '../../../model/job-reports.ts'
import type { Millis } from '../../../model/instant.ts'
import type { Which } from './enrichment-queue.ts'

/** What can be read. Each kind has its own entry, so that a failure affects only that kind. */
export type JobReadable = 'log' | 'tests' | 'spans' | ReportType
export const jobReadables: readonly JobReadable[] = ['log', 'tests', 'spans', ...allReportTypes]

/** To be read about a job of a chunk that is about to be written. */
export interface JobReadWish {
  readonly jobId: number
  readonly what: JobReadable
}

/** To be read about a job of an earlier chunk. */
export interface LateJobRead extends JobReadWish {
  readonly attempt: number
  /** Of the chunk with the job's span. */
  readonly number: number
}

export interface JobReadKey extends LateJobRead {
  /** The id of the run's row. */
  readonly run: number
}

export interface JobRead extends JobReadKey {
  /** How often it failed. */
  readonly tries: number
  readonly pendingSince: Millis
  /** On the store's clock. */
  readonly takenAt: Millis
  readonly chunk: Chunk
}

export interface JobReads {
  /** Leases due entries, the longest due first. Damaged ones are removed. */
  take(limit: number, leaseMs: number, which?: Which): Promise<readonly JobRead[]>
  /** Extends the leases, from now on; 0: they are due at once. */
  extend(keys: readonly JobReadKey[], leaseMs: number): Promise<void>
  /** Returns a leased entry: it is due again in `ms`. `counted`: this was a try. */
  defer(key: JobReadKey, ms: number, counted: boolean): Promise<void>
  /** Removes an entry for good. */
  drop(key: JobReadKey): Promise<void>
  /** How many are due now or leased, how many are due later, and since when the oldest is pending. */
  count(): Promise<{ readonly due: number; readonly later: number; readonly oldest: Millis | undefined }>
}
