// A chunk of a snapshot: what one request can carry of an attempt, fixed whatever the run becomes later. Stored as JSON with a version of
// its shape, so that an upgraded daemon sends what an older one stored.
import type { Millis } from './instant.ts'
import { durationsByStage, type StageDurations } from './durations.ts'
import type { JobInside } from './inside.ts'
import type { JobView } from './job.ts'
import type { PipelineFacts, ProjectFacts, RunKey } from './observation.ts'
import type { TraceContext } from './run.ts'

/** Version of the shape below. A change that an older reader would misread gets a new number and a reader for the old one. */
export const snapshotVersion = 1

/** One job's span as it will be sent. */
export interface JobSnapshot extends JobView {
  /** Start of the span; equal to `end` for a job that never ran. */
  readonly start: Millis
  readonly end: Millis
  /** A higher job id of the same name exists in the run. */
  readonly retried: boolean
  /** On the critical path of its attempt. Absent, as the slack is, where that was not known: in supplements, and where it never ran. */
  readonly critical?: true | undefined
  /** How much later it could have ended without its attempt ending later, ms. */
  readonly slack?: Millis | undefined
  /** The name of its rate in the price table, and its cost, in that table's unit. */
  readonly rate?: string | undefined
  readonly cost?: number | undefined
  /** The platform's number of the deployment that it made, where an event had reported it by then. */
  readonly deploymentId?: number | undefined
  /** Appended to the span id's input, for every span of a job after its first. */
  readonly salt?: string | undefined
}

/** The pipeline as it was when the snapshot was taken. Its span is sent with chunk 1 of an attempt only. */
export interface PipelineSnapshot {
  readonly facts: PipelineFacts
  readonly createdAt?: Millis | undefined
  readonly start: Millis
  /** F, or the start where that is later. */
  readonly end: Millis
  /** The platform's finish of this attempt; where it is unknown (blocked, stale, skipped) F stands in `end` alone. */
  readonly finishedAt?: Millis | undefined
  readonly incomplete: boolean
  /**
   * Failure reasons of the latest job of each name that failed and was not allowed to: what a failed pipeline's result is
   * taken over. Empty string: failed without a reason.
   */
  readonly failures: readonly string[]
  /** Number of jobs and bridges of this attempt, over all chunks. */
  readonly jobCount: number
  /** How long the jobs of this attempt ran, added up, over all chunks, ms; bridges run nowhere. */
  readonly computeMs?: number | undefined
  /** The costs of the jobs of this attempt, added up, over all chunks; absent where there was no price table. */
  readonly cost?: number | undefined
  /** It was canceled when a newer pipeline of its ref existed already. */
  readonly superseded?: true | undefined
  /** Of the jobs of all chunks. Only in chunk 1 of several: a single chunk has all jobs itself. */
  readonly durations?: readonly StageDurations[] | undefined
}

export interface Chunk {
  readonly version: typeof snapshotVersion
  readonly key: RunKey
  readonly project: ProjectFacts
  /** From 1. */
  readonly attempt: number
  /** From 1; what comes after the snapshot continues the attempt's numbers. */
  readonly number: number
  /** `job`: what was read about the inside of a job. Such a chunk has an `inside`, and no jobs. */
  readonly kind: 'attempt' | 'supplement' | 'job'
  readonly trace: TraceContext
  /** When the last observation before the snapshot was processed, on the store's clock: for measuring how long the export took from there. */
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
