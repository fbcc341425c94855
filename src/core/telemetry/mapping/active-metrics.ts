// The metrics of active jobs: how many wait for a runner or occupy one, and how long the oldest has waited.
import { textRow, type AttributeRow } from './row.ts'
import type { ActiveJobs } from '../../../model/totals.ts'
import type { MetricHead } from './metrics.ts'

const workerType: AttributeRow<ActiveJobs> = textRow('platform.cicd.worker.type', 'known', one => one.workerType)
const tagSet: AttributeRow<ActiveJobs> = textRow('platform.cicd.worker.tag_set', 'known', ({ tagSet: tags }) => tags)

interface ActiveJobMetric extends MetricHead {
  readonly attributes: readonly AttributeRow<ActiveJobs>[]
}

export const activeJobsMetric: ActiveJobMetric = {
  name: 'platform.cicd.pipeline.task.run.active',
  type: 'updowncounter',
  number: 'int',
  unit: '{task_run}',
  attributes: [
    textRow('platform.cicd.pipeline.task.run.state', 'always', ({ state }) => state, '`pending` or `running`'),
    workerType,
    tagSet,
  ],
  when: 'while jobs are known to be active, and 0 for a day after the last one; no bridges',
  description: 'Active jobs, by state, and by type and tags of the runner.',
}

export const oldestWaitMetric: ActiveJobMetric = {
  name: 'platform.cicd.pipeline.task.run.oldest_wait',
  type: 'gauge',
  number: 'double',
  unit: 's',
  attributes: [tagSet],
  when: 'jobs are pending, and 0 for a day after the last one',
  description: 'Time that the oldest pending job has waited for a runner, by tags.',
}
