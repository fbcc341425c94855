// Runs and their snapshots. They are changed only through `transact`, which locks the runs and writes them, with their pending exports, in one
// transaction.
import type { EnrichmentChange } from './enrichment-queue.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { Job } from '../../../model/job.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ProjectIncrements } from '../../../model/totals.ts'
import type { ProjectFacts, RunKey } from '../../../model/observation.ts'
import type { Signal } from './outbox.ts'
import type { StepOf, Steps, Within } from '../sql/steps.ts'
import type { Undecodable } from './quarantine.ts'
import type { Run, RunHead } from '../../../model/run.ts'
import type { EventChunk, PlatformEvent } from '../../../model/event.ts'
import type { JobSpan } from '../../../model/trace-context.ts'

export type SourceName = 'webhook' | 'redelivery' | 'poller' | 'backfill'

/** The times of a run on the database's clock, ms. */
export interface RunTiming {
  readonly changedAt: Millis
  /** When the open attempt was first observed as ended. */
  readonly endedAt?: Millis | undefined
  /**
   * The time until which enrichment may delay the export. After that time, the run is exported without the missing details. Undefined if enrichment
   * is done or disabled.
   */
  readonly enrichingUntil?: Millis | undefined
  /** When the run is due next. Undefined if only a new observation makes it due. */
  readonly dueAt?: Millis | undefined
}

export interface StoredRun {
  readonly run: Run
  readonly timing: RunTiming
  /** When each source first reported the run. */
  readonly firstSeenBy: Readonly<Partial<Record<SourceName, Millis>>>
}

/** A new chunk, with its outbox entries. */
export interface PendingChunk {
  readonly chunk: Chunk
  readonly to: readonly { readonly destination: string; readonly signal: Signal }[]
}

// Features write reports, such as deployments or conditions, in the transactions that change runs or take in events. The code that runs these
// transactions does not know the content of the reports: it passes them to the features' reporters, which write them.

/** The path of a project at a given time. For data without a project it is the path of a group, or empty for a whole instance. */
export interface SeenOwner {
  readonly instance: string
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  readonly at: Millis
}

/** Writes one kind of report, on either database. */
export interface Reporter<Report> {
  /** The position of this reporter. Reports are written in ascending order of their reporters' positions. */
  readonly order: number
  /** Returns the names that a report locks. Writers of the same name exclude each other. Locks are taken before anything is written. */
  locks?(report: Report): readonly string[]
  /** Writes all reports of the transaction, in the order in which they arrived. */
  write(reports: readonly Report[], within: Within): Steps<void>
  /** Returns the project or group that the report belongs to. The store records it as an owner. */
  owner?(report: Report): SeenOwner
  /**
   * Adds stored facts about the reports, such as ids, to a change before it is written. `earlier` are the earlier reports of the same transaction.
   */
  complete?(change: RunChange, reports: readonly Report[], earlier: readonly Report[]): Steps<RunChange>
}

/** The reports of one reporter. Only this reporter knows their content. */
export interface Reports {
  readonly by: Reporter<unknown>
  readonly reports: readonly unknown[]
}

/** The changes to one run, as returned by `decide`. */
export interface RunChange {
  /** The run with the jobs that were loaded for the decision. Only changed jobs are written. */
  readonly run: Run
  readonly timing: RunTiming
  readonly pending?: readonly PendingChunk[] | undefined
  /**
   * The increments that the snapshots add to the totals. They are written in the same transaction as the snapshots, so that each snapshot counts
   * exactly once.
   */
  readonly totals?: readonly ProjectIncrements[] | undefined
  readonly reports?: readonly Reports[] | undefined
  /** The change to the enrichment queue. Undefined if the queue does not change. */
  readonly enrichment?: EnrichmentChange | undefined
}

export interface RunWork {
  readonly key: RunKey
  /** The jobs that `decide` needs. More jobs may be loaded. */
  readonly jobs: 'all' | readonly number[]
  /** The source that observed the run. It is stored with the time of its first observation of the run. */
  readonly source?: SourceName | undefined
  /**
   * A statement that claims this change for one replica and returns a row. If it returns no row, another replica has done the work, and `decide` is
   * not called.
   */
  readonly claim?: StepOf | undefined
  /**
   * Decides how to change the run. Pure and synchronous; it may be called again if the run changed in the meantime. Undefined means that there is
   * nothing to write.
   */
  readonly decide: (known: StoredRun | undefined, now: Millis) => RunChange | undefined
}

/** Data from deliveries that is stored in the same transaction as the run observations. */
export interface Beside {
  /** The events, in the order in which they arrived. */
  readonly events?: readonly ReceivedEvent[] | undefined
  readonly reports?: readonly Reports[] | undefined
}

/** Received deliveries, which are merged into their runs in one transaction. */
export interface TakingIn {
  /** The idempotency key of each delivery, or undefined if it has none. */
  readonly keys: readonly (string | undefined)[]
  /** Returns the changes that the new deliveries make. Pure and synchronous; it may be called again. */
  readonly plan: (areNew: readonly boolean[]) => {
    readonly work: readonly RunWork[]
    readonly beside?: Beside | undefined
    readonly undecodable?: readonly Undecodable[] | undefined
    /** The ids of quarantined deliveries that were decoded again. */
    readonly retried?: readonly number[] | undefined
  }
}

export interface Runs {
  /** Stores the keys and writes the changes of new deliveries, in one transaction. Returns for each delivery whether it was new. */
  takeIn(taking: TakingIn): Promise<readonly boolean[]>
  /** Loads each run under a lock, calls its `decide`, and writes all changes and reports, in one transaction. */
  transact(work: readonly RunWork[], beside?: Beside): Promise<void>
  /** Leases runs that are due. */
  takeDue(limit: number, leaseMs: number): Promise<readonly RunKey[]>
  /** Returns the ms until the next run is due, or undefined if no run has a due time. */
  dueIn(): Promise<number | undefined>
  /** Returns a run, or undefined if it is unknown or damaged. */
  get(key: RunKey): Promise<StoredRun | undefined>
  /**
   * Returns the data of a parent pipeline that its child needs: the run without its jobs, and the job that triggered the child. Undefined if the
   * parent is unknown or damaged.
   */
  ancestor(key: RunKey, jobId: number | undefined): Promise<{ head: RunHead; trigger?: Job | undefined } | undefined>
  /** Returns pipelines of the project that are newer than this one, oldest first. Only the next thousand pipelines of the instance are searched. */
  newer(key: RunKey, projectId: number): Promise<readonly RunHead[]>
  count(): Promise<{ runs: number; onlyJobs: number; open: number }>
}

// Events that do not belong to a pipeline. Each is stored once, in the transaction that takes in its delivery, and is exported through the outbox.

/** The job that an event belongs to. The event is exported with the ids of the job's span. */
export interface JobWait {
  readonly jobId: number
  /** Returns the job's span if it is already known. Otherwise `joinWaiting` completes the event once the span is known. */
  readonly spanOf: (instance: string, jobId: number, within: Within) => Steps<JobSpan | undefined>
}

export interface ReceivedEvent {
  readonly event: Pick<PlatformEvent, 'object' | 'key' | 'content'>
  /** The event as it will be sent. If the event has no time of its own, its time is set when the event is stored. */
  readonly chunk: EventChunk
  /** The job that the event belongs to. The event waits up to `ms` for the job's span, and is then sent without it. */
  readonly waits?: (JobWait & { readonly ms: number }) | undefined
  /** The destinations of the event: it is sent as log records, as metric points, or as notifications for people. */
  readonly to: readonly { readonly destination: string; readonly signal: 'logs' | 'metrics' | 'notifications' }[]
}
