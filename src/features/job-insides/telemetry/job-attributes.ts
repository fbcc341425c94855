// The attributes that identify the job in all telemetry that is read after the job's span was exported.
import {
  ATTR_CICD_PIPELINE_TASK_NAME,
  ATTR_CICD_PIPELINE_TASK_RUN_ID,
} from '../../../core/telemetry/mapping/semconv.ts'
import type { AttributeRow } from '../../../core/telemetry/mapping/row.ts'
import type { InsideJob } from '../../../model/inside.ts'

export interface OfJob {
  readonly job: InsideJob
}

export const runId: AttributeRow<OfJob> = {
  keys: [ATTR_CICD_PIPELINE_TASK_RUN_ID],
  type: 'string',
  when: 'always',
  value: ({ job }) => String(job.id),
}
export const taskName: AttributeRow<OfJob> = {
  keys: [ATTR_CICD_PIPELINE_TASK_NAME],
  recurs: true,
  type: 'string',
  when: 'always',
  value: ({ job }) => job.name ?? '',
}

/** The event name of the log record of a job's dotenv report, and the prefix of each key. */
export const dotenvEvent = 'platform.report.dotenv'
/** The attributes of a dotenv report's log record, in addition to the allowed keys of the report. */
export const dotenvAttributes = [runId, taskName]

/** The attributes that are added to the spans a job created itself. */
export const ownSpanAttributes = [runId]
