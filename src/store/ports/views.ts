// What people ask of the store: lists of runs, one run with its family, what became of its exports, figures over time.
import type { Chunk } from '../../model/chunk.ts'
import type { EventChunk } from '../../model/event.ts'
import type { JobInside } from '../../model/inside.ts'
import type { Millis } from '../../model/instant.ts'
import type { RunKey } from '../../model/observation.ts'
import type { ShownKind } from '../../model/shown-event.ts'
import type { Signal, StoredRun } from './runs.ts'
import type { Judging } from './judging.ts'
import type { CostReads } from './costs.ts'
import type { TrendViews } from './trends.ts'

/** Filters of a list; what is undefined does not filter. */
export interface RunQuery {
  /** Full path. */
  readonly project?: string | undefined
  readonly ref?: string | undefined
  readonly status?: string | undefined
  readonly source?: string | undefined
  /** Created at or after. */
  readonly since?: Millis | undefined
  /** Created before. */
  readonly until?: Millis | undefined
  /** The name of a job, exactly. */
  readonly job?: string | undefined
  /** Words that all occur in project, ref, name, commit title, revision, user or id. */
  readonly text?: string | undefined
  /** Where the page before ended. */
  readonly after?: RunCursor | undefined
  readonly limit: number
}

/** A place in the order of all runs, newest first. */
export interface RunCursor {
  readonly createdAt: Millis
  readonly id: number
}

/** `id`: the store's own number of the run. */
export interface ListedKey extends RunKey {
  readonly id: number
  /** The pipeline that triggered it. */
  readonly parentId?: number | undefined
  readonly createdAt: Millis
}

export interface RunPage {
  readonly runs: readonly StoredRun[]
  /** Undefined at the end. */
  readonly next?: RunCursor | undefined
  /** Set when the search was cut short: all runs created since then were looked at, older ones not yet. */
  readonly searchedBackTo?: Millis | undefined
}

export interface ExportState {
  readonly id: number
  readonly attempt: number
  readonly chunk: number
  readonly signal: Signal
  readonly destination: string
  readonly state: 'pending' | 'delivered' | 'dead' | 'dropped'
  readonly pendingSince: Millis
  readonly settledAt?: Millis | undefined
  readonly tries: number
  /** The backend's last words, while it is pending or dead. */
  readonly error?: string | undefined
}

/** A place in the order of all audit events, newest first. */
export interface AuditCursorPlace {
  readonly at: Millis
  readonly id: number
}

export interface AuditPage {
  readonly events: readonly EventChunk[]
  /** Undefined at the end. */
  readonly next?: AuditCursorPlace | undefined
}

/** Of the events of a timeline. */
export interface ShownEventQuery {
  readonly as: ShownKind
  /** Full path; undefined: of all projects and groups. */
  readonly project?: string | undefined
  readonly since: Millis
  readonly until: Millis
  readonly limit: number
}

/** Runs that are counted for one list. */
export const mostCounted = 10_000

export interface Views {
  /** Runs in one of these statuses, the newest first. */
  inStatus(statuses: readonly string[], limit: number): Promise<readonly StoredRun[]>
  /** How many runs are in one of these statuses, where only some projects count: of those. */
  countInStatus(statuses: readonly string[], isCounted?: (project: string) => boolean): Promise<number>
  /** Of runs in one of these statuses those of which nothing was observed since then: the longest silent first, and how many. */
  silentInStatus(
    statuses: readonly string[],
    since: Millis,
    limit: number,
  ): Promise<{ readonly runs: readonly StoredRun[]; readonly count: number }>
  /** The last to finish first. */
  lastFinished(limit: number): Promise<readonly StoredRun[]>
  /** One page of a list. A text or a job is looked for in a bounded number of runs at a time. */
  search(query: RunQuery): Promise<RunPage>
  /** Keys of listed runs, the last to be stored first; those before that number. */
  listedKeys(limit: number, before?: number): Promise<readonly ListedKey[]>
  /** How many runs a list has in all, text and job left aside; undefined where they are more than are counted (`mostCounted`). */
  countRuns(
    query: Omit<RunQuery, 'text' | 'job' | 'after' | 'limit'>,
    isCounted?: (project: string) => boolean,
  ): Promise<number | undefined>
  /** Full paths of known projects in order, at most `limit`. */
  projects(limit: number): Promise<readonly string[]>
  /** The run of a project's pipeline; of several instances' the newest, unless one is named. */
  find(projectId: number, pipelineId: number, instance?: string): Promise<StoredRun | undefined>
  /** The runs that this one triggered. */
  children(key: RunKey): Promise<readonly StoredRun[]>
  /** All snapshots of a run, in order; not what was read about the inside of its jobs. */
  chunks(key: RunKey): Promise<readonly Chunk[]>
  /** What was read of the sections of its jobs, or of one job, in the order of the reading; of so many jobs at most. */
  sections(key: RunKey, limit: number, jobId?: number): Promise<readonly JobInside[]>
  /** What was read of the tests of one job, in the order of the reading: the newest `limit` chunks. */
  tests(key: RunKey, limit: number, jobId: number): Promise<readonly JobInside[]>
  /** Its outbox entries, in order. */
  outboxOf(key: RunKey): Promise<readonly ExportState[]>
  /** Audit events, the newest first; those behind `after`. */
  audit(limit: number, after?: AuditCursorPlace): Promise<AuditPage>
  /** Events of one kind within a time, the newest first. */
  shownEvents(query: ShownEventQuery): Promise<readonly EventChunk[]>
  readonly trends: TrendViews
  readonly costs: CostReads
  readonly judging: Judging
}
