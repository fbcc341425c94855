// One row of a waterfall: a pipeline, a stage, a job, or a section of a job, with its times.
import type { Millis } from '../../model/instant.ts'

export interface WaterfallRow {
  readonly kind: 'pipeline' | 'stage' | 'job' | 'section'
  readonly id: number
  readonly label: string
  /** A note shown after the row's label. */
  readonly note?: string | undefined
  readonly status: string
  readonly depth: number
  /** The times at which the row was queued, started and finished. Each time is undefined until the event has happened. */
  readonly queued?: Millis | undefined
  readonly start?: Millis | undefined
  readonly end?: Millis | undefined
  readonly critical: boolean
  /** Whether the pipeline has a newer job with the same name as this job. */
  readonly retried: boolean
  /** The IDs of the row's project and pipeline. For a pipeline's row, these are the pipeline's own. */
  readonly projectId: number
  readonly pipelineId: number
}
