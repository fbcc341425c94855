// A chunk: as much of an attempt's snapshot as fits into one request. What is sent is encoded when it is taken and never changes; what pages show of it is
// rebuilt from its run (`run-chunks.ts`).
import type { Millis } from './instant.ts'
import { durationsByStage, type StageDurations } from './runner-time.ts'
import type { JobInside } from './inside.ts'
import type { JobView } from './job.ts'
import type { PipelineFacts, ProjectFacts, RunKey } from './observation.ts'
import type { TraceContext } from './trace-context.ts'

/** One job's span as it will be sent. */
export interface JobSnapshot extends JobView {
  /** Start of the span; equal to `end` for a job that never ran. */
  readonly start: Millis
  readonly end: Millis
  /** A higher job id of the same name exists in the run. */
  readonly retried: boolean
  /** It is on the critical path of its attempt. Absent, like the slack, in supplements and for jobs that never ran. */
  readonly critical?: true | undefined
  /** How much later it could have ended without its attempt ending later, ms. */
  readonly slack?: Millis | undefined
  /** The name of its rate in the price table, and its cost in the table's currency. */
  readonly rate?: string | undefined
  readonly cost?: number | undefined
  /** The platform's id of the deployment that it made, if an event had reported it by then. */
  readonly deploymentId?: number | undefined
  /** Part of the span id of every span of this job after its first. */
  readonly salt?: string | undefined
}

/** The pipeline as it was when the snapshot was taken. Only chunk 1 of an attempt carries its span. */
export interface PipelineSnapshot {
  readonly facts: PipelineFacts
  readonly createdAt?: Millis | undefined
  readonly start: Millis
  /** F, or the start where that is later. */
  readonly end: Millis
  /** The finish that the platform reports for this attempt; absent where there is none (blocked, stale, skipped). */
  readonly finishedAt?: Millis | undefined
  /** Exported before its end. */
  readonly incomplete: boolean
  /** Exported after its end, without all details that only the platform's API has. */
  readonly lacksDetails?: true | undefined
  /**
   * Failure reasons of the jobs that made the pipeline fail: the latest of each name, without those that are allowed to fail.
   * Empty string: failed without a reason.
   */
  readonly failures: readonly string[]
  /** Number of jobs and bridges of this attempt, over all chunks. */
  readonly jobCount: number
  /** Sum over all jobs of this attempt, in all chunks, ms; bridges occupy no runner. */
  readonly computeMs?: number | undefined
  /** Sum over all jobs of this attempt, in all chunks; absent without a price table. */
  readonly cost?: number | undefined
  readonly mergeRequestEvent?: string | undefined
  /** It was canceled when a newer pipeline of its ref existed already. */
  readonly superseded?: true | undefined
  /** The verdict about this attempt as a sentence, once it ended. Only in the chunk that carries the pipeline. */
  readonly verdict?: string | undefined
  /** The durations of the jobs of all chunks. Only in the first of several chunks: a single one contains all jobs itself. */
  readonly durations?: readonly StageDurations[] | undefined
}

export interface Chunk {
  readonly key: RunKey
  readonly project: ProjectFacts
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** The number of the chunk, from 1; what comes after the snapshot continues the attempt's numbers. */
  readonly number: number
  /** `job`: what was read about the inside of a job. Such a chunk has an `inside`, and no jobs. */
  readonly kind: 'attempt' | 'supplement' | 'job'
  readonly trace: TraceContext
  /** When the last observation before the snapshot was processed, on the store's clock: the export delay is measured from here. */
  readonly observedAt?: Millis | undefined
  readonly pipeline: PipelineSnapshot
  readonly jobs: readonly JobSnapshot[]
  readonly inside?: JobInside | undefined
}

/** True for the one chunk of an attempt that carries the pipeline's span, log record and metrics. */
export function carriesPipeline(chunk: Chunk): boolean {
  return chunk.kind === 'attempt' && chunk.number === 1
}

/** How long the jobs of the chunk's whole attempt ran. */
export function durationsOf({ pipeline, jobs }: Pick<Chunk, 'pipeline' | 'jobs'>): readonly StageDurations[] {
  return pipeline.durations ?? durationsByStage(jobs)
}
