// Runs and their snapshots: one verb to change them, under a lock, together with what becomes pending, in one transaction.
import type { EnrichmentChange } from './enrichment-queue.ts'
import type { ReceivedEvent } from './events.ts'
import type { ReportedChange } from './changes.ts'
import type { ReportedIncident } from './incidents.ts'
import type { ReportedDeployment } from './deployments.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JobReadKey, JobReadWish, LateJobRead } from './job-reads.ts'
import type { Job } from '../../model/job.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectIncrements } from '../../model/totals.ts'
import type { RunKey } from '../../model/observation.ts'
import type { Run, RunHead } from '../../model/run.ts'

export type SourceName = 'webhook' | 'redelivery' | 'poller' | 'backfill'

/** Times on the database's clock, ms. */
export interface RunTiming {
  /** The last change. */
  readonly changedAt: Millis
  /** When the open attempt was first seen at its end. */
  readonly endedAt?: Millis | undefined
  /** Enrichment may delay the export until then; undefined: done, off or given up. */
  readonly enrichingUntil?: Millis | undefined
  /** When the run must be looked at again; undefined: when news arrives. */
  readonly dueAt?: Millis | undefined
}

export interface StoredRun {
  readonly run: Run
  readonly timing: RunTiming
  /** When each source first reported it. */
  readonly firstSeenBy: Readonly<Partial<Record<SourceName, Millis>>>
}

/** A chunk of a snapshot that is to be sent, and to whom. */
export interface PendingChunk {
  readonly chunk: Chunk
  readonly to: readonly { readonly destination: string; readonly signal: Signal }[]
  /** What is then to be read about the inside of its jobs. */
  readonly reads?: readonly JobReadWish[] | undefined
}

export const signals = ['traces', 'metrics', 'logs'] as const
export type Signal = (typeof signals)[number]

/** What a decision writes. */
export interface RunChange {
  readonly run: Run
  /** The jobs to write; the others stay as they are. */
  readonly jobs: readonly Job[]
  readonly timing: RunTiming
  readonly pending?: readonly PendingChunk[] | undefined
  /** What is to be read about jobs whose snapshots were taken before; nothing where their chunks are gone. */
  readonly lateReads?: readonly LateJobRead[] | undefined
  /** What the snapshots add to the totals: in the same transaction, so that nothing counts twice or not at all. */
  readonly totals?: readonly ProjectIncrements[] | undefined
  /** What the snapshots' jobs deployed. */
  readonly deployments?: readonly ReportedDeployment[] | undefined
  /** What its pipeline says of the change that it is of. */
  readonly changes?: readonly ReportedChange[] | undefined
  /** What the platform's API is to be asked about the run. Undefined: as before. */
  readonly enrichment?: EnrichmentChange | undefined
}

export interface RunWork {
  readonly key: RunKey
  /** Which jobs the decision needs. */
  readonly jobs: 'all' | readonly number[]
  /** Set when a source reports something: stored with the time of its first report. */
  readonly source?: SourceName | undefined
  /** What was read, and is removed with this: where it is no longer to be read, somebody else did it, and `decide` is not called. */
  readonly read?: JobReadKey | undefined
  /** Pure and synchronous; may be called again when the run changed meanwhile. Undefined: nothing to write. */
  readonly decide: (known: StoredRun | undefined, now: Millis) => RunChange | undefined
}

/** Deliveries that are erased in the same transaction, because what they report is now in the store. */
export interface Processed {
  readonly token: string
  readonly ids: readonly number[]
  /** What they report that is about no run, in the order of arrival. */
  readonly events?: readonly ReceivedEvent[] | undefined
  /** What they report of deployments. */
  readonly deployments?: readonly ReportedDeployment[] | undefined
  /** What they report of changes. */
  readonly changes?: readonly ReportedChange[] | undefined
  /** What they report of incidents. */
  readonly incidents?: readonly ReportedIncident[] | undefined
}

export interface RunSummary {
  readonly key: RunKey
  readonly status: string | undefined
  readonly attempts: number
  readonly jobs: number
  readonly dueAt?: Millis | undefined
}

export interface Runs {
  /**
   * Loads each run under a lock, asks its `decide`, writes all changes and erases what was processed: one transaction.
   * Returns false, with nothing written, when the inbox lease was lost to somebody else.
   */
  transact(work: readonly RunWork[], processed?: Processed): Promise<boolean>
  /** Takes runs that are due and hides them from others for `leaseMs`. */
  takeDue(limit: number, leaseMs: number): Promise<readonly RunKey[]>
  /** How long it is until the next run is due, ms by the store's clock; undefined when none will be. */
  dueIn(): Promise<number | undefined>
  /** Undefined for one that is unknown, or damaged: so is an ancestor. */
  get(key: RunKey): Promise<StoredRun | undefined>
  /** The run without its jobs, and one job of it: what a child needs to know of its parent. */
  ancestor(key: RunKey, jobId: number | undefined): Promise<{ head: RunHead; trigger?: Job | undefined } | undefined>
  /** Pipelines of the project that come after this one, among the next thousand of its instance, the oldest first. */
  newer(key: RunKey, projectId: number): Promise<readonly RunHead[]>
  count(): Promise<{ runs: number; onlyJobs: number; open: number }>
}
