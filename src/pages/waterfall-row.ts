// One row of a waterfall: a pipeline, a stage, a job or a section of a job, with its place in time.
import type { Millis } from '../model/instant.ts'

export interface WaterfallRow {
  readonly kind: 'pipeline' | 'stage' | 'job' | 'section'
  readonly id: number
  readonly label: string
  /** Said after the label. */
  readonly note?: string | undefined
  readonly status: string
  readonly depth: number
  /** When it began to queue, to run, and when it ended; undefined: it never did. */
  readonly queued?: Millis | undefined
  readonly start?: Millis | undefined
  readonly end?: Millis | undefined
  readonly critical: boolean
  /** A newer job of the same name exists. */
  readonly retried: boolean
  /** The pipeline that it belongs to, or is. */
  readonly projectId: number
  readonly pipelineId: number
}
