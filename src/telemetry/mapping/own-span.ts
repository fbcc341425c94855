// The attributes that are added to spans which a job made itself.
import type { AttributeRow } from './row.ts'
import { ATTR_CICD_PIPELINE_TASK_RUN_ID } from './semconv.ts'
import type { InsideJob } from '../../model/inside.ts'

export const ownSpanAttributes: readonly AttributeRow<InsideJob>[] = [
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_ID], type: 'string', when: 'always', value: ({ id }) => String(id) },
]
