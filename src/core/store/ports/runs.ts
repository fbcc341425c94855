// Runs and their snapshots. `transact` is the only way to change them: under a lock, in one transaction with what becomes pending.
import type { EnrichmentChange } from './enrichment-queue.ts'
import type { ReceivedEvent } from './events.ts'
import type { Change } from '../../../model/change.ts'
import type { Deployment } from '../../../model/deployment.ts'
import type { Incident } from '../../../model/incident.ts'
import type { Reported } from './counted.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { JobReadKey, JobReadWish, LateJobRead } from './job-reads.ts'
import type { Job } from '../../../model/job.ts'
import type { Millis } from '../../../model/instant.ts'
import type { ProjectIncrements } from '../../../model/totals.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { Undecodable } from './quarantine.ts'
import type { RoutedCondition } from '../../../model/condition.ts'
import type { Run, RunHead } from '../../../model/run.ts'

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
  /** What is to be read about the inside of its jobs. */
  readonly reads?: readonly JobReadWish[] | undefined
}

export const otlpSignals = ['traces', 'metrics', 'logs'] as const
export type OtlpSignal = (typeof otlpSignals)[number]
/** What is queued for a destination: telemetry, or messages to people. */
export const signals = [...otlpSignals, 'notifications'] as const
export type Signal = (typeof signals)[number]

/** What a decision writes. */
export interface RunChange {
  /** With the jobs that were known to the decision; only those that changed are written. */
  readonly run: Run
  readonly timing: RunTiming
  readonly pending?: readonly PendingChunk[] | undefined
  /** What is to be read about jobs of earlier chunks; ignored if these are deleted already. */
  readonly lateReads?: readonly LateJobRead[] | undefined
  /** What the snapshots add to the totals: in the same transaction, so that each counts exactly once. */
  readonly totals?: readonly ProjectIncrements[] | undefined
  /** The deployments that the snapshots' jobs made. */
  readonly deployments?: readonly Reported<Deployment>[] | undefined
  /** What its pipeline reports of its merge request. */
  readonly changes?: readonly Reported<Change>[] | undefined
  /** What people may be notified about. */
  readonly conditions?: readonly RoutedCondition[] | undefined
  /** Undefined: as before. */
  readonly enrichment?: EnrichmentChange | undefined
}

export interface RunWork {
  readonly key: RunKey
  /** The jobs that the decision needs; it may get more. */
  readonly jobs: 'all' | readonly number[]
  /** The source of an observation: stored with the time of its first one. */
  readonly source?: SourceName | undefined
  /** An entry of the queue `job_reads` to remove. If it is gone, another replica has done the work and `decide` is not called. */
  readonly read?: JobReadKey | undefined
  /** Pure and synchronous; may be called again if the run changed meanwhile. Undefined: nothing to write. */
  readonly decide: (known: StoredRun | undefined, now: Millis) => RunChange | undefined
}

/** What is reported besides observations of runs. */
export interface Reports {
  /** In the order of arrival. */
  readonly events?: readonly ReceivedEvent[] | undefined
  readonly deployments?: readonly Reported<Deployment>[] | undefined
  readonly changes?: readonly Reported<Change>[] | undefined
  readonly incidents?: readonly Reported<Incident>[] | undefined
  readonly conditions?: readonly RoutedCondition[] | undefined
}

/** Received deliveries, which become part of their runs in one transaction. */
export interface TakingIn {
  /** The idempotency key of each; undefined: it has none. */
  readonly keys: readonly (string | undefined)[]
  /** What those change that are new. Pure and synchronous; may be called again. */
  readonly plan: (areNew: readonly boolean[]) => {
    readonly work: readonly RunWork[]
    readonly reports?: Reports | undefined
    readonly undecodable?: readonly Undecodable[] | undefined
    /** Quarantined deliveries that were decoded again, by their ids. */
    readonly retried?: readonly number[] | undefined
  }
}

export interface Runs {
  /** In one transaction: remembers the keys, and changes what new deliveries report. Returns for each whether it was new. */
  takeIn(taking: TakingIn): Promise<readonly boolean[]>
  /** In one transaction: loads each run under a lock, calls its `decide`, and writes all changes and reports. */
  transact(work: readonly RunWork[], reports?: Reports): Promise<void>
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
