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
      'one point for each state: `pending` with the time that the run was queued (attempt 1 only), without a result; and `executing` with its duration, result and `error.type`. The platform reports no time for `finalizing`',
  },
  {
    name: 'status message of spans',
    contract: 'the failure reason, which is also `error.type`',
    strict: 'none, except for a pipeline whose configuration was rejected: the errors in the configuration',
  },
  {
    name: '`cicd.pipeline.task.type`',
    contract: 'the name of the stage',
    strict: `derived from words in the name of the stage: ${words}. Absent if the name has no such word, or words of two types. The name of the stage is in \`${taskStage}\`, on spans, log records and the points of \`cicd.pipeline.task.duration\``,
  },
  {
    name: '`cicd.worker.state`',
    contract: '`available` or `offline`: whether its runner takes jobs',
    strict: '`busy` if the job ran, because its runner was working during the span',
  },
] as const
