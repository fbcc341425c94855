// The changes that `PIPESPAN_CONVENTIONS=strict` makes, as rows of the reference. For each change, the attribute and metric tables have one row for
// `contract` and one for `strict`.
import { code } from './markdown.ts'
import { taskStage, taskTypes } from '../../src/core/telemetry/mapping/job.ts'

const words = Object.entries(taskTypes)
  .map(([type, own]) => `${code(type)} by ${own.map(code).join(', ')}`)
  .join('; ')

export const strictChanges = [
  {
    name: 'metric `cicd.pipeline.run.duration`',
    contract:
      'one point per run, with the state in which it ended (`finalizing`) and the duration that the platform reports',
    strict:
      'a point for each state: `pending`, for the time that the run was queued (attempt 1 only), without a result; and `executing`, for its duration, with result and `error.type`. The platform reports no time for `finalizing`',
  },
  {
    name: 'status message of spans',
    contract: 'the failure reason, which is also `error.type`',
    strict: 'none; of a pipeline whose configuration was refused, what was wrong in it',
  },
  {
    name: '`cicd.pipeline.task.type`',
    contract: 'the name of the stage',
    strict: `by the words in the name of the stage: ${words}; absent if there is none, or those of two types. The name of the stage is in \`${taskStage}\`, on spans, log records and the points of \`cicd.pipeline.task.duration\``,
  },
  {
    name: '`cicd.worker.state`',
    contract: '`available` or `offline`: whether its runner takes jobs',
    strict: '`busy` if the job ran: in the time of its span, its runner worked',
  },
] as const
