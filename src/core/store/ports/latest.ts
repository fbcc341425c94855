// What the newest pipeline of each ref is read with. Which one is the newest is for the reader to
// remember: it asks for the rows that were added since, so no index has to be kept for it.
import type { JobInside } from '../../../model/inside.ts'
import type { StoredRun } from './runs.ts'

/** A listed run: what says whether it is the newest of its ref. */
export interface ListedRun {
  /** The id of its row. */
  readonly id: number
  readonly instance: string
  readonly projectId: number
  readonly pipelineId: number
  /** Empty if unknown, as is the source. */
  readonly ref: string
  readonly source: string
}

export interface Latest {
  /** Runs whose row was added after the row `after`, in the order of their rows. */
  runsAfter(after: number, limit: number): Promise<readonly ListedRun[]>
  /** Texts that change when a run, its jobs or what was read about these change. Runs that are gone have none. */
  versions(ids: readonly number[]): Promise<ReadonlyMap<number, string>>
  /** Runs by the ids of their rows, with their jobs; without those that are damaged or gone. */
  runs(ids: readonly number[]): Promise<ReadonlyMap<number, StoredRun>>
  /** The totals of the test reports of a run's jobs, in the order in which they were read; of at most `limit` jobs. */
  testTotals(id: number, limit: number): Promise<readonly JobInside[]>
}
