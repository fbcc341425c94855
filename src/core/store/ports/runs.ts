// Runs and their snapshots. `transact` is the only way to change them: under a lock, in one transaction with what becomes pending.
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

/** Times on the database's clock, ms. */
export interface RunTiming {
  /** The last change. */
  readonly changedAt: Millis
  /** When the open attempt was first observed as ended. */
  readonly endedAt?: Millis | undefined
  /** Enrichment may delay the export until then. A time in the past: details are missing. Undefined: enrichment is done or off. */
  readonly enrichingUntil?: Millis | undefined
  /** When the run is due again; undefined: not before a new observation. */
  readonly dueAt?: Millis | undefined
}

export interface StoredRun {
  readonly run: Run
  readonly timing: RunTiming
  /** When each source first reported it. */
  readonly firstSeenBy: Readonly<Partial<Record<SourceName, Millis>>>
}

/** A new chunk, with its outbox entries. */
export interface PendingChunk {
  readonly chunk: Chunk
  readonly to: readonly { readonly destination: string; readonly signal: Signal }[]
}

// What a feature reports within a transaction of the line, such as deployments or conditions. The line carries reports and does not know what they are: their
// reporter writes them, in the transaction that changes the runs or takes the events that they come from.

/** The path of a project at a time; of a group, or of an instance (an empty path), without a project. */
export interface SeenOwner {
  readonly instance: string
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  readonly at: Millis
}

/** Writes one kind of reports, on either database. */
export interface Reporter<Report> {
  /** Reports are written in the order of these numbers. */
  readonly order: number
  /** All writers of a report wait for each other by these names; they are taken before anything is written. */
  locks?(report: Report): readonly string[]
  /** All reports of the transaction, in the order in which they came. */
  write(reports: readonly Report[], within: Within): Steps<void>
  /** To whom a report belongs: that project becomes known. */
  owner?(report: Report): SeenOwner
  /** Completes a change with what is known of its reports, before it is written. `earlier`: reports of the same transaction. */
  complete?(change: RunChange, reports: readonly Report[], earlier: readonly Report[]): Steps<RunChange>
}

/** Reports of one reporter, the only one that knows what they are. */
export interface Reports {
  readonly by: Reporter<unknown>
  readonly reports: readonly unknown[]
}

/** What a decision writes. */
export interface RunChange {
  /** The run with the jobs that were known to the decision; only those that changed are written. */
  readonly run: Run
  readonly timing: RunTiming
  readonly pending?: readonly PendingChunk[] | undefined
  /** What the snapshots add to the totals: in the same transaction, so that each counts exactly once. */
  readonly totals?: readonly ProjectIncrements[] | undefined
  /** What features report of the run. */
  readonly reports?: readonly Reports[] | undefined
  /** Undefined: as before. */
  readonly enrichment?: EnrichmentChange | undefined
}

export interface RunWork {
  readonly key: RunKey
  /** The jobs that the decision needs; it may get more. */
  readonly jobs: 'all' | readonly number[]
  /** The source of an observation: stored with the time of its first one. */
  readonly source?: SourceName | undefined
  /** A change that returns a row. If it returns none, another replica has done the work and `decide` is not called. */
  readonly claim?: StepOf | undefined
  /** Pure and synchronous; may be called again if the run changed meanwhile. Undefined: nothing to write. */
  readonly decide: (known: StoredRun | undefined, now: Millis) => RunChange | undefined
}

/** What was received besides observations of runs. */
export interface Beside {
  /** The events, in the order of arrival. */
  readonly events?: readonly ReceivedEvent[] | undefined
  readonly reports?: readonly Reports[] | undefined
}

/** Received deliveries, which become part of their runs in one transaction. */
export interface TakingIn {
  /** The idempotency key of each; undefined: it has none. */
  readonly keys: readonly (string | undefined)[]
  /** The changes of the new deliveries. Pure and synchronous; may be called again. */
  readonly plan: (areNew: readonly boolean[]) => {
    readonly work: readonly RunWork[]
    readonly beside?: Beside | undefined
    readonly undecodable?: readonly Undecodable[] | undefined
    /** Quarantined deliveries that were decoded again, by their ids. */
    readonly retried?: readonly number[] | undefined
  }
}

export interface Runs {
  /** In one transaction: remembers the keys, and changes what new deliveries report. Returns for each whether it was new. */
  takeIn(taking: TakingIn): Promise<readonly boolean[]>
  /** In one transaction: loads each run under a lock, calls its `decide`, and writes all changes and reports. */
  transact(work: readonly RunWork[], beside?: Beside): Promise<void>
  /** Leases runs that are due. */
  takeDue(limit: number, leaseMs: number): Promise<readonly RunKey[]>
  /** Ms until the next run is due; undefined if none is. */
  dueIn(): Promise<number | undefined>
  /** Undefined for an unknown or damaged one. */
  get(key: RunKey): Promise<StoredRun | undefined>
  /** What a child pipeline needs from its parent: the run without its jobs, and one job. Undefined if the parent is unknown or damaged. */
  ancestor(key: RunKey, jobId: number | undefined): Promise<{ head: RunHead; trigger?: Job | undefined } | undefined>
  /** Later pipelines of the project, among the next thousand of the instance, the oldest first. */
  newer(key: RunKey, projectId: number): Promise<readonly RunHead[]>
  count(): Promise<{ runs: number; onlyJobs: number; open: number }>
}

// Events that are not about a pipeline. Each is stored once, in the transaction that takes in what reported it, and exported through the outbox.

/** The job that an event is about: the event is sent with the job's span. */
export interface JobWait {
  readonly jobId: number
  /** The job's span, if it is known already. Otherwise the code that learns it completes the event (`joinWaiting`). */
  readonly spanOf: (instance: string, jobId: number, within: Within) => Steps<JobSpan | undefined>
}

export interface ReceivedEvent {
  readonly event: Pick<PlatformEvent, 'object' | 'key' | 'content'>
  /** The event as it will be sent, except for a time that is derived from the order of events. */
  readonly chunk: EventChunk
  /** Waits up to `ms` for its job's span, and is then sent without it. */
  readonly waits?: (JobWait & { readonly ms: number }) | undefined
  /** Where it is sent: as log records, as points of metrics, or as messages to people. */
  readonly to: readonly { readonly destination: string; readonly signal: 'logs' | 'metrics' | 'notifications' }[]
}
