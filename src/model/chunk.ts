// A frozen part: what one export sends, fixed whatever the run becomes later. Stored as versioned JSON, so that an upgraded
// daemon sends what an older one froze.
import type { Millis } from './instant.ts'
import { durationsByStage, type StageDurations } from './durations.ts'
import type { JobView } from './job.ts'
import type { PipelineFacts, ProjectFacts, RunKey } from './observation.ts'
import type { TraceContext } from './run.ts'

/** Version of the shape below. A change that an older reader would misread gets a new number and a reader for the old one. */
export const frozenVersion = 1

/** One job's span as it will be sent. */
export interface FrozenJob extends JobView {
  /** Start of the span; equal to `end` for a job that never ran. */
  readonly start: Millis
  readonly end: Millis
  /** A higher job id of the same name exists in the run. */
  readonly retried: boolean
  /** Appended to the span id's input, for every span of a job after its first. */
  readonly salt?: string | undefined
}

/** The pipeline as it was at the freeze. Its span is sent with part 1 of an attempt only. */
export interface FrozenPipeline {
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
  /** All jobs and bridges of this attempt, over all parts. */
  readonly jobCount: number
  /** Of all parts' jobs. Only in part 1 of several: elsewhere the part's own jobs tell as much. */
  readonly durations?: readonly StageDurations[] | undefined
}

export interface FrozenPart {
  readonly version: typeof frozenVersion
  readonly key: RunKey
  readonly project: ProjectFacts
  /** From 1. */
  readonly attempt: number
  /** From 1; supplements continue the attempt's numbers. */
  readonly part: number
  readonly kind: 'attempt' | 'supplement'
  readonly trace: TraceContext
  /** When the run's last news before the freeze was understood, on the store's clock: for measuring what it took from there. */
  readonly heardAt?: Millis | undefined
  readonly pipeline: FrozenPipeline
  readonly jobs: readonly FrozenJob[]
}

/** True for the one part of an attempt that carries the pipeline's span, log record and metrics. */
export function carriesPipeline(part: FrozenPart): boolean {
  return part.kind === 'attempt' && part.part === 1
}

/** How long the jobs of this part's whole attempt ran. */
export function durationsOf({ pipeline, jobs }: Pick<FrozenPart, 'pipeline' | 'jobs'>): readonly StageDurations[] {
  return pipeline.durations ?? durationsByStage(jobs)
}
