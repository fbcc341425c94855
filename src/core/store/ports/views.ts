// The queries of pages and commands: lists of runs, one run with its family, and the state of its exports.
import type { Chunk } from '../../../model/chunk.ts'
import type { EventChunk, ShownKind } from '../../../model/event.ts'
import type { JobInside } from '../../../model/inside.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PeriodFilter, ProjectScope } from './project-scope.ts'
import { indexedFilters, runFilters, type RunFilter } from './run-columns.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { StoredRun } from './runs.ts'
import type { Signal } from './outbox.ts'

/** The filters of a run list. Filters on columns match exactly. */
export interface RunQuery extends Readonly<Partial<Record<RunFilter, string | undefined>>> {
  /** The full path of a project, or a set of full paths. */
  readonly project?: ProjectScope | undefined
  /** Only runs that were created at this time or later are listed. */
  readonly since?: Millis | undefined
  /** Only runs that were created before this time are listed. */
  readonly until?: Millis | undefined
  /** The exact name of a job that the run must have. */
  readonly job?: string | undefined
  /** Search words. Each must occur in the project, ref, name, commit title, revision, user or id of the run. */
  readonly text?: string | undefined
  /** The end of the previous page, after which this page starts. */
  readonly after?: RunCursor | undefined
  readonly limit: number
}

/**
 * A position in the list of all runs, newest first, given by a run that the reader has seen. It contains no row number, because gaps between row
 * numbers would reveal how many runs the reader may not see.
 */
export interface RunCursor {
  readonly createdAt: Millis
  readonly pipelineId: number
}

export interface ListedKey extends RunKey {
  /** The id of the run's row. */
  readonly id: number
  /** The id of the pipeline that triggered this run. */
  readonly parentId?: number | undefined
  readonly createdAt: Millis
}

/** A run for which other runs of similar duration are to be found. */
export interface LikeRun extends RunKey {
  readonly projectId: number
  /** The full path of the run's project. */
  readonly project: string
  readonly ref?: string | undefined
  readonly source?: string | undefined
  readonly tookMs: number
  /** Only runs that were created at this time or later are compared. */
  readonly since: Millis
}

export interface RunPage {
  readonly runs: readonly StoredRun[]
  /** The start of the next page. Undefined on the last page. */
  readonly next?: RunCursor | undefined
  /** Set if the search reached its limit: only runs created since this time were searched. */
  readonly searchedBackTo?: Millis | undefined
}

export interface ExportState {
  readonly id: number
  readonly attempt: number
  readonly chunk: number
  readonly signal: Signal
  readonly destination: string
  readonly state: 'pending' | 'dead'
  readonly pendingSince: Millis
  readonly settledAt?: Millis | undefined
  readonly tries: number
  /** The error message in the backend's last response. */
  readonly error?: string | undefined
}

/** A position in the list of all audit events, newest first. */
export interface AuditCursorPlace {
  readonly at: Millis
  readonly id: number
}

export interface AuditPage {
  readonly events: readonly EventChunk[]
  /** The start of the next page. Undefined on the last page. */
  readonly next?: AuditCursorPlace | undefined
}

/** The maximum number of list entries that are counted. */
export const maxCounted = 10_000

/** Whether a list needs a search, because not all of its filters are columns. */
export function isSearch(query: Omit<RunQuery, 'limit'>): boolean {
  return query.text !== undefined || query.job !== undefined || unindexed(query).length > 0
}

/** Returns the filters that can only be checked by reading the runs themselves. */
export function unindexed(query: Omit<RunQuery, 'limit'>): readonly RunFilter[] {
  return runFilters.filter(name => query[name] !== undefined && !indexedFilters.includes(name))
}

export interface Views {
  /** Returns runs in one of these statuses, newest first. */
  inStatus(statuses: readonly string[], limit: number): Promise<readonly StoredRun[]>
  countInStatus(statuses: readonly string[]): Promise<number>
  /**
   * Returns the runs in one of these statuses that were last observed before `since`, the longest silent first, and the total number of such runs.
   */
  silentInStatus(
    statuses: readonly string[],
    since: Millis,
    limit: number,
  ): Promise<{ readonly runs: readonly StoredRun[]; readonly count: number }>
  /** Returns how many runs have finished since the given time. */
  countFinished(since: Millis): Promise<number>
  /** Returns finished runs, the most recently finished first. */
  lastFinished(limit: number): Promise<readonly StoredRun[]>
  /** Returns one page of a run list. A search by text or job name reads a limited number of runs at a time. */
  search(query: RunQuery): Promise<RunPage>
  /**
   * Returns at most `limit` other successful runs of the same project with a similar duration (within a tenth), from its last 2,000 runs. Runs of the
   * same ref or source come first, then the runs with the closest duration.
   */
  tookAbout(like: LikeRun, limit: number): Promise<readonly RunKey[]>
  /** Returns the keys of runs, most recently stored first. If `before` is given, only runs that were stored before that run are returned. */
  listedKeys(limit: number, before?: RunCursor): Promise<readonly ListedKey[]>
  /** Returns the length of a run list. Undefined if it is longer than `maxCounted`, or if the list needs a search. */
  countRuns(query: Omit<RunQuery, 'after' | 'limit'>): Promise<number | undefined>
  /** Returns the full paths of at most `limit` known projects, in order. */
  projects(limit: number): Promise<readonly string[]>
  /** Returns the latest full paths of at most `limit` projects, in any order. Projects whose runs were pruned are included. */
  latestPaths(limit: number): Promise<readonly string[]>
  /** Returns the run of a project's pipeline. If no instance is given and several have such a pipeline, it returns the newest run. */
  find(projectId: number, pipelineId: number, instance?: string): Promise<StoredRun | undefined>
  /** Returns the runs that this run triggered. */
  children(key: RunKey): Promise<readonly StoredRun[]>
  /** Returns the chunks of a run's snapshots in order, without job internals (such as log sections and test results). */
  chunks(key: RunKey): Promise<readonly Chunk[]>
  /** Returns the chunks of many runs by run id, in any order. All chunks are in memory at once, so pass a few dozen runs at most. */
  chunksOf(runs: readonly Pick<ListedKey, 'id'>[]): Promise<ReadonlyMap<number, readonly Chunk[]>>
  /** Returns the log sections of the run's jobs, or of one job, in the order in which they were read. At most `limit` jobs are included. */
  sections(key: RunKey, limit: number, jobId?: number): Promise<readonly JobInside[]>
  /** Returns the test results of one job from its newest `limit` chunks, in the order in which they were read. */
  tests(key: RunKey, limit: number, jobId: number): Promise<readonly JobInside[]>
  /** Returns the run's pending and rejected exports, in order. */
  outboxOf(key: RunKey): Promise<readonly ExportState[]>
  /** Returns audit events, newest first. */
  audit(limit: number, after?: AuditCursorPlace): Promise<AuditPage>
  /** Returns events of one kind within a period, newest first. Without a project, events of groups are included. */
  shownEvents(query: PeriodFilter & { readonly as: ShownKind }): Promise<readonly EventChunk[]>
}
