// What pages and commands read: lists of runs, one run with its family, the state of its exports.
import type { Chunk } from '../../../model/chunk.ts'
import type { EventChunk, ShownKind } from '../../../model/event.ts'
import type { JobInside } from '../../../model/inside.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PeriodFilter, ProjectScope } from './project-scope.ts'
import { indexedFilters, runFilters, type RunFilter } from './run-columns.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { StoredRun } from './runs.ts'
import type { Signal } from './outbox.ts'

/** Filters by columns are exact. */
export interface RunQuery extends Readonly<Partial<Record<RunFilter, string | undefined>>> {
  /** Full path. */
  readonly project?: ProjectScope | undefined
  /** Created at or after. */
  readonly since?: Millis | undefined
  /** Created before. */
  readonly until?: Millis | undefined
  /** The name of a job, exactly. */
  readonly job?: string | undefined
  /** Words that must each occur in project, ref, name, commit title, revision, user or id. */
  readonly text?: string | undefined
  /** The end of the previous page. */
  readonly after?: RunCursor | undefined
  readonly limit: number
}

/**
 * A place in the order of all runs, newest first: that of a run which the reader has seen. It contains no row number: gaps between row numbers would show
 * how many runs the reader may not see.
 */
export interface RunCursor {
  readonly createdAt: Millis
  readonly pipelineId: number
}

export interface ListedKey extends RunKey {
  /** The id of the run's row. */
  readonly id: number
  /** The pipeline that triggered it. */
  readonly parentId?: number | undefined
  readonly createdAt: Millis
}

/** Describes a run, to find others that took about as long. */
export interface LikeRun extends RunKey {
  readonly projectId: number
  /** Full path. */
  readonly project: string
  readonly ref?: string | undefined
  readonly source?: string | undefined
  /** ms. */
  readonly tookMs: number
  /** Created at or after. */
  readonly since: Millis
}

export interface RunPage {
  readonly runs: readonly StoredRun[]
  /** Undefined on the last page. */
  readonly next?: RunCursor | undefined
  /** Set if the search reached its limit: only runs created since then were searched. */
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
  /** The backend's last answer. */
  readonly error?: string | undefined
}

/** A place in the order of all audit events, newest first. */
export interface AuditCursorPlace {
  readonly at: Millis
  readonly id: number
}

export interface AuditPage {
  readonly events: readonly EventChunk[]
  /** Undefined on the last page. */
  readonly next?: AuditCursorPlace | undefined
}

/** The count of a list stops here. */
export const maxCounted = 10_000

/** Whether a list has to be searched: not all of its filters are columns of a table. */
export function isSearch(query: Omit<RunQuery, 'limit'>): boolean {
  return query.text !== undefined || query.job !== undefined || unindexed(query).length > 0
}

/** The filters for which the runs themselves are read. */
export function unindexed(query: Omit<RunQuery, 'limit'>): readonly RunFilter[] {
  return runFilters.filter(name => query[name] !== undefined && !indexedFilters.includes(name))
}

export interface Views {
  /** Runs in one of these statuses, the newest first. */
  inStatus(statuses: readonly string[], limit: number): Promise<readonly StoredRun[]>
  countInStatus(statuses: readonly string[]): Promise<number>
  /** The runs in one of these statuses without an observation since then, the longest silent first, and their number. */
  silentInStatus(
    statuses: readonly string[],
    since: Millis,
    limit: number,
  ): Promise<{ readonly runs: readonly StoredRun[]; readonly count: number }>
  /** How many runs finished since then. */
  countFinished(since: Millis): Promise<number>
  /** The latest end first. */
  lastFinished(limit: number): Promise<readonly StoredRun[]>
  /** One page of a list. A text or a job is searched in a limited number of runs at a time. */
  search(query: RunQuery): Promise<RunPage>
  /**
   * Other runs of the same project that succeeded and took about as long (within a tenth), of its last 2,000: those of the same ref or source first,
   * then those whose duration is nearest; at most `limit`.
   */
  tookAbout(like: LikeRun, limit: number): Promise<readonly RunKey[]>
  /** Keys of runs, the last stored first; `before`: only those that were stored before this one. */
  listedKeys(limit: number, before?: RunCursor): Promise<readonly ListedKey[]>
  /** The length of a list; undefined if it is longer than `maxCounted`, or if only a search finds what is in it. */
  countRuns(query: Omit<RunQuery, 'after' | 'limit'>): Promise<number | undefined>
  /** Full paths of known projects in order, at most `limit`. */
  projects(limit: number): Promise<readonly string[]>
  /** The latest full paths of projects, also of those whose runs were pruned; in any order, at most `limit`. */
  latestPaths(limit: number): Promise<readonly string[]>
  /** The run of a project's pipeline; the newest one if several instances have it and none is named. */
  find(projectId: number, pipelineId: number, instance?: string): Promise<StoredRun | undefined>
  /** The runs that this one triggered. */
  children(key: RunKey): Promise<readonly StoredRun[]>
  /** The chunks of a run's snapshots, in order; without the insides of its jobs. */
  chunks(key: RunKey): Promise<readonly Chunk[]>
  /** The same for many runs, by id, in any order. All are in memory at once, so a few dozen at most. */
  chunksOf(runs: readonly Pick<ListedKey, 'id'>[]): Promise<ReadonlyMap<number, readonly Chunk[]>>
  /** The sections of its jobs, or of one job, in the order in which they were read; of at most `limit` jobs. */
  sections(key: RunKey, limit: number, jobId?: number): Promise<readonly JobInside[]>
  /** The tests of one job, in the order in which they were read; from the newest `limit` chunks. */
  tests(key: RunKey, limit: number, jobId: number): Promise<readonly JobInside[]>
  /** Which of its exports are pending or were refused, in order. */
  outboxOf(key: RunKey): Promise<readonly ExportState[]>
  /** Audit events, the newest first. */
  audit(limit: number, after?: AuditCursorPlace): Promise<AuditPage>
  /** Events of one kind within a period, the newest first; without a project, also those of groups. */
  shownEvents(query: PeriodFilter & { readonly as: ShownKind }): Promise<readonly EventChunk[]>
}
