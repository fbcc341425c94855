// What is still to be read about the inside of jobs: a queue. An entry is written with the chunk that has the job's span, and removed with
// the chunks that have what was read, each time in one transaction: so nothing is read into the outbox twice, whoever dies meanwhile.
import type { Chunk } from '../../model/chunk.ts'
import { allReportTypes, type ReportType } from '../../model/job-reports.ts'
import type { Millis } from '../../model/instant.ts'

/** What of a job is to be read; each is an entry of its own, so that one that cannot be read harms no other. */
export type JobReadable = 'log' | 'tests' | 'spans' | ReportType
export const jobReadables: readonly JobReadable[] = ['log', 'tests', 'spans', ...allReportTypes]

/** What is to be read about a job of a chunk that is about to be written. */
export interface JobReadWish {
  readonly jobId: number
  readonly what: JobReadable
}

/** What is to be read about a job after all: the chunk with its span, of this attempt, was written before. */
export interface LateJobRead extends JobReadWish {
  readonly attempt: number
}

export interface JobReadKey extends JobReadWish {
  /** The chunk that has the job's span: one for each job and attempt. */
  readonly chunkId: number
}

export interface JobRead extends JobReadKey {
  /** How often it was tried in vain. */
  readonly tries: number
  readonly pendingSince: Millis
  /** On the store's clock. */
  readonly takenAt: Millis
  readonly chunk: Chunk
}

export interface JobReads {
  /** Takes entries that are due, the longest due first, and hides them from others for `leaseMs`. Damaged ones are removed. */
  take(limit: number, leaseMs: number): Promise<readonly JobRead[]>
  /** Leases them for so long from now; 0: they are due at once. */
  extend(keys: readonly JobReadKey[], leaseMs: number): Promise<void>
  /** Puts one that was taken back: it is due again in so long. `counted`: it was tried. */
  defer(key: JobReadKey, ms: number, counted: boolean): Promise<void>
  /** Gives one up. */
  drop(key: JobReadKey): Promise<void>
  /** How many are due now or taken, how many wait for a later time, and since when the oldest is pending. */
  count(): Promise<{ readonly due: number; readonly later: number; readonly oldest: Millis | undefined }>
}
