// Declares a chunk: as much of an attempt's snapshot as fits into one request. A chunk is encoded when the snapshot is taken, and the encoded chunk
// never changes. Pages show a chunk that is rebuilt from its run (`run-chunks.ts`).
import type { Millis } from './instant.ts'
import { durationsByStage, type StageDurations } from './runner-time.ts'
import type { JobInside } from './inside.ts'
import type { JobView } from './job.ts'
import type { PipelineFacts, ProjectFacts, RunKey } from './observation.ts'
import type { TraceContext } from './trace-context.ts'

/** A job with the data that its span will contain. */
export interface JobSnapshot extends JobView {
  /** Start of the job's span; equal to `end` for a job that never ran. */
  readonly start: Millis
  readonly end: Millis
  /** True if the run contains a job with the same name and a higher ID. */
  readonly retried: boolean
  /** True if the job is on the critical path of its attempt. Like the slack, it is absent in supplements and for jobs that never ran. */
  readonly critical?: true | undefined
  /** The job's slack in ms: how much later the job could have ended without delaying the end of its attempt. */
  readonly slack?: Millis | undefined
  /** The name of the job's rate in the price table. `cost` is in the table's currency. */
  readonly rate?: string | undefined
  readonly cost?: number | undefined
  /** The platform's ID of the deployment that the job created, if an event reported it before the snapshot was taken. */
  readonly deploymentId?: number | undefined
  /** A salt that is hashed into the span ID, so that each later span of the job gets a different ID. The job's first span has none. */
  readonly salt?: string | undefined
}

/** The pipeline as it was when the snapshot was taken. Only chunk 1 of an attempt carries the pipeline's span. */
export interface PipelineSnapshot {
  readonly facts: PipelineFacts
  readonly createdAt?: Millis | undefined
  readonly start: Millis
  /** The attempt's finish (F), or the attempt's start if the start is later. */
  readonly end: Millis
  /** The finish that the platform reports for this attempt. It is absent if the pipeline is blocked, stale or skipped. */
  readonly finishedAt?: Millis | undefined
  /** True if the pipeline was exported before it ended. */
  readonly incomplete: boolean
  /** True if the pipeline was exported after it ended, but without all the details that only the platform's API has. */
  readonly lacksDetails?: true | undefined
  /**
   * Failure reasons of the jobs that made the pipeline fail. Only the latest job of each name counts, and jobs that are allowed to fail do not. An
   * empty string stands for a failure without a reason.
   */
  readonly failures: readonly string[]
  /** Number of jobs and bridges of this attempt, in all its chunks. */
  readonly jobCount: number
  /** Total runner time in ms of all jobs of this attempt, in all its chunks. Bridges do not count, because they occupy no runner. */
  readonly computeMs?: number | undefined
  /** Total cost of all jobs of this attempt, in all its chunks. Absent if there is no price table. */
  readonly cost?: number | undefined
  readonly mergeRequestEvent?: string | undefined
  /** True if the pipeline was canceled when a newer pipeline of its ref already existed. */
  readonly superseded?: true | undefined
  /** The verdict on this attempt as a sentence, set once the attempt has ended. Only the chunk that carries the pipeline has it. */
  readonly verdict?: string | undefined
  /**
   * The durations of the jobs in all chunks of the attempt. Set only if there are several chunks, and only in the first one, because a single chunk
   * contains all jobs anyway.
   */
  readonly durations?: readonly StageDurations[] | undefined
}

export interface Chunk {
  readonly key: RunKey
  readonly project: ProjectFacts
  /** The number of the attempt, starting at 1. */
  readonly attempt: number
  /** The number of the chunk within its attempt, starting at 1. Chunks that are created after the snapshot continue the numbering. */
  readonly number: number
  /** A chunk of kind `job` contains job internals (`inside`) and no jobs. */
  readonly kind: 'attempt' | 'supplement' | 'job'
  readonly trace: TraceContext
  /** When the last observation before the snapshot was processed, by the store's clock. The export delay is measured from this time. */
  readonly observedAt?: Millis | undefined
  readonly pipeline: PipelineSnapshot
  readonly jobs: readonly JobSnapshot[]
  readonly inside?: JobInside | undefined
}

/** True for the single chunk of an attempt that carries the pipeline's span, log record and metrics. */
export function carriesPipeline(chunk: Chunk): boolean {
  return chunk.kind === 'attempt' && chunk.number === 1
}

/** The durations of all jobs in the chunk's attempt, by stage. */
export function durationsOf({ pipeline, jobs }: Pick<Chunk, 'pipeline' | 'jobs'>): readonly StageDurations[] {
  return pipeline.durations ?? durationsByStage(jobs)
}
