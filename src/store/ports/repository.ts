// Small documents that outlive the process and are shared by replicas and commands. Each kind has a repository; one owner writes it,
// everybody else reads through it.
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
import type { CountedRows } from './scrape-documents.ts'
import type { NotificationRule, StoredCondition } from './condition-documents.ts'
import type { StoreCopy } from './tables.ts'
import type { StoredSession } from './session.ts'
import type { TryRequest } from './try-documents.ts'

/** `Key` are the fields that identify a document. */
export interface Repository<Document extends object, Key extends keyof Document> {
  /** Also undefined if it is damaged: its owner will write a new one. */
  get(key: Pick<Document, Key>): Promise<Document | undefined>
  /** In the order of their keys, without damaged ones: `onDamaged` is called with the name of each. */
  all(onDamaged?: (name: string) => void): Promise<readonly Document[]>
  put(document: Document): Promise<void>
  remove(key: Pick<Document, Key>): Promise<void>
  /** Deletes expired and damaged documents. `now` is the store's clock. */
  prune(isOver: (document: Document, now: Millis) => boolean): Promise<void>
  /**
   * Changes one document under a lock. `change` must be pure, as it may be called again. If it returns no document, the document is
   * deleted. `now` is the store's clock.
   */
  change<T>(
    key: Pick<Document, Key>,
    change: (known: Document | undefined, now: Millis) => Change<Document, T>,
  ): Promise<T>
  /** The store's clock. */
  now(): Promise<Millis>
}

export interface Change<Document, T> {
  readonly document: Document | undefined
  readonly result: T
}

/** The interface for rooms other than the owner. */
export type Readable<R extends { readonly all: unknown }> = Pick<R, 'all'>

export interface Repositories {
  /** Written by the poller. */
  readonly polledProjects: Repository<PolledProject, 'instance' | 'project'>
  readonly ownPipelines: Repository<OwnPipelines, 'instance'>
  readonly sweeps: Repository<Sweep, 'instance' | 'group'>
  /** Written by redelivery. */
  readonly hooks: Repository<WatchedHook, 'instance' | 'kind' | 'id'>
  readonly backfills: Repository<Backfill, 'instance' | 'name'>
  /** Written by the reader of audit events. */
  readonly auditCursors: Repository<AuditCursor, 'instance' | 'source'>
  readonly auditBackfills: Repository<AuditBackfill, 'instance' | 'name'>
  /** Written by the reader of incidents. */
  readonly incidentCursors: Repository<IncidentCursor, 'instance'>
  /** Written by the API client, one for each token. */
  readonly budgets: Repository<ApiBudget, 'account'>
  /** Written by the job reader. */
  readonly refusedEndpoints: Repository<RefusedEndpoint, 'instance' | 'what' | 'project'>
  readonly reportedNames: Repository<ReportedNames, 'instance' | 'project'>
  /** Written by inventory. */
  readonly gaugeReadings: Repository<GaugeReading, 'instance' | 'kind' | 'of'>
  readonly inventoryStates: Repository<InventoryState, 'instance' | 'kind' | 'of'>
  /** Written by each daemon. */
  readonly daemonReports: Repository<DaemonReport, 'daemon'>
  /** Written by `pipespan tokens rotate`. */
  readonly journals: Repository<RotationJournal, 'target'>
  readonly rotations: Repository<RotationRecord, 'id'>
  /** Written by the judge of regressions. */
  readonly regressions: Repository<Regression, 'instance' | 'projectId' | 'id'>
  /** Written by the pages. */
  readonly sessions: Repository<StoredSession, 'digest'>
  /** Written by "Try now". */
  readonly tryRequests: Repository<TryRequest, 'destination'>
  /** Written by the metric flush; a single document. */
  readonly recentRuns: Repository<RecentRuns, never>
  /** Written by scrapes with the metrics of gcpe. */
  readonly countedRows: Repository<CountedRows, 'kind' | 'instance' | 'projectId'>
  /** Written with what reports a condition (`Processed`, `RunChange`). */
  readonly conditions: Repository<StoredCondition, 'subject'>
  /** Written when a daemon starts. */
  readonly notificationRules: Repository<NotificationRule, 'name'>
  /** Written by `pipespan store copy`; a single document. */
  readonly copy: Repository<StoreCopy, never>
}
