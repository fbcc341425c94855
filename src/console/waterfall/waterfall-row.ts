// One row of a waterfall: a pipeline, a stage, a job or a section of a job, with its times.
import type { Millis } from '../../model/instant.ts'

export interface WaterfallRow {
  readonly kind: 'pipeline' | 'stage' | 'job' | 'section'
  readonly id: number
  readonly label: string
  /** Shown after the label. */
  readonly note?: string | undefined
  readonly status: string
  readonly depth: number
  /** When it was queued, started and ended; undefined for what has not happened. */
  readonly queued?: Millis | undefined
  readonly start?: Millis | undefined
  readonly end?: Millis | undefined
  readonly critical: boolean
  /** Whether a newer job of the same name exists. */
  readonly retried: boolean
  /** The pipeline of the row; for a pipeline, itself. */
  readonly projectId: number
  readonly pipelineId: number
}
