// The attributes of the log record of a job's dotenv report, in addition to its allowed keys.
import type { AttributeRow } from './row.ts'
import { ATTR_CICD_PIPELINE_TASK_NAME, ATTR_CICD_PIPELINE_TASK_RUN_ID } from './semconv.ts'
import type { InsideJob } from '../../model/inside.ts'

/** The record's event name, and the prefix of each key. */
export const dotenvEvent = 'platform.report.dotenv'

export const dotenvAttributes: readonly AttributeRow<InsideJob>[] = [
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_ID], type: 'string', when: 'always', value: ({ id }) => String(id) },
  {
    keys: [ATTR_CICD_PIPELINE_TASK_NAME],
    recurs: true,
    type: 'string',
    when: 'always',
    value: ({ name }) => name ?? '',
  },
]
