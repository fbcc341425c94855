// Small documents that outlive the process and that replicas and commands share. Each kind has one owner, who writes it, and a
// repository of its own, through which everybody else reads it.
import type { AuditBackfill, AuditCursor } from './audit-documents.ts'
import type { ApiBudget, Backfill, OwnPipelines, PolledProject, Sweep, WatchedHook } from './discovery-documents.ts'
import type { DaemonReport, RotationJournal, RotationRecord } from './token-documents.ts'
import type { GaugeReading } from './gauge-documents.ts'
import type { IncidentCursor } from './incident-documents.ts'
import type { InventoryState } from './inventory-documents.ts'
import type { Regression } from './regression-documents.ts'
import type { RefusedEndpoint } from './capability-documents.ts'
import type { ReportedNames } from './report-documents.ts'
import type { Millis } from '../../model/instant.ts'
import type { RecentRuns } from './recent-runs.ts'
import type { StoreCopy } from './tables.ts'
import type { StoredSession } from './session.ts'

/** Documents of one kind. `Key` names the fields that together identify one. */
export interface Repository<Document extends object, Key extends keyof Document> {
  /** Undefined also where it is damaged: whoever owns it writes it anew. */
  get(key: Pick<Document, Key>): Promise<Document | undefined>
  /** All that are whole, in the order of their keys. `onDamaged` is called with the name of each that is left out. */
  all(onDamaged?: (name: string) => void): Promise<readonly Document[]>
  put(document: Document): Promise<void>
  remove(key: Pick<Document, Key>): Promise<void>
  /** Removes those that are over by the store's clock, and those that are damaged. */
  prune(isOver: (document: Document, now: Millis) => boolean): Promise<void>
  /**
   * Changes one under a lock, at `now` on the store's clock. `change` is pure and may be called again; without a `document` there is
   * none afterwards.
   */
  change<T>(
    key: Pick<Document, Key>,
    change: (known: Document | undefined, now: Millis) => Change<Document, T>,
  ): Promise<T>
  /** The store's clock, for whoever compares it with instants in a document and writes nothing. */
  now(): Promise<Millis>
}

export interface Change<Document, T> {
  readonly document: Document | undefined
  readonly result: T
}

/** What other rooms than the owner do. */
export type Readable<R extends { readonly all: unknown }> = Pick<R, 'all'>

export interface Repositories {
  /** Of the poller. */
  readonly polledProjects: Repository<PolledProject, 'instance' | 'project'>
  readonly ownPipelines: Repository<OwnPipelines, 'instance'>
  readonly sweeps: Repository<Sweep, 'instance' | 'group'>
  /** Of redelivery. */
  readonly hooks: Repository<WatchedHook, 'instance' | 'kind' | 'id'>
  readonly backfills: Repository<Backfill, 'instance' | 'name'>
  /** Of who reads audit events. */
  readonly auditCursors: Repository<AuditCursor, 'instance' | 'source'>
  readonly auditBackfills: Repository<AuditBackfill, 'instance' | 'name'>
  /** Of who asks for incidents. */
  readonly incidentCursors: Repository<IncidentCursor, 'instance'>
  /** Of the platform's API, by its token. */
  readonly budgets: Repository<ApiBudget, 'account'>
  /** Of who reads the inside of jobs. */
  readonly refusedEndpoints: Repository<RefusedEndpoint, 'instance' | 'what' | 'project'>
  readonly reportedNames: Repository<ReportedNames, 'instance' | 'project'>
  /** Of whoever asks the platform what it is. */
  readonly gaugeReadings: Repository<GaugeReading, 'instance' | 'kind' | 'of'>
  readonly inventoryStates: Repository<InventoryState, 'instance' | 'kind' | 'of'>
  /** Of each daemon that runs. */
  readonly daemonReports: Repository<DaemonReport, 'daemon'>
  /** Of `pipespan tokens rotate`. */
  readonly journals: Repository<RotationJournal, 'target'>
  readonly rotations: Repository<RotationRecord, 'id'>
  /** Of who judges what became worse. */
  readonly regressions: Repository<Regression, 'instance' | 'projectId' | 'id'>
  /** Of the pages. */
  readonly sessions: Repository<StoredSession, 'digest'>
  /** Of the metric flush; there is one. */
  readonly recentRuns: Repository<RecentRuns, never>
  /** Of `pipespan store copy`; there is one. */
  readonly copy: Repository<StoreCopy, never>
}
