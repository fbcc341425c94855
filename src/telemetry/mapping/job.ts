// The attributes of a job or bridge: one table, carried by its span and by its log record alike.
import type { Attributes } from '@opentelemetry/api'
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions'
import type { JobSnapshot, Chunk } from '../../model/chunk.ts'
import type { Environment, Person, Runner } from '../../model/observation.ts'
import { errorTypeOf, outcomeOfJob, stateOf, type Outcome } from './statuses.ts'
import {
  ATTR_CICD_PIPELINE_TASK_NAME,
  ATTR_CICD_PIPELINE_TASK_RUN_ID,
  ATTR_CICD_PIPELINE_TASK_RUN_RESULT,
  ATTR_CICD_PIPELINE_TASK_RUN_URL_FULL,
  ATTR_CICD_PIPELINE_TASK_TYPE,
  ATTR_CICD_WORKER_ID,
  ATTR_CICD_WORKER_NAME,
  ATTR_CICD_WORKER_STATE,
  CICD_WORKER_STATE_VALUE_AVAILABLE,
  CICD_WORKER_STATE_VALUE_OFFLINE,
} from './semconv.ts'
import { styleOf, type TelemetrySettings } from '../settings.ts'
import { jobsUrl } from '../urls.ts'
import { NumberedText } from '../attributes/numbered-text.ts'
import { attributesOf, milliseconds, type AttributeRow } from '../attributes.ts'
import { sameList, thing } from '../attributes/things.ts'

export interface JobSubject {
  readonly part: Chunk
  readonly job: JobSnapshot
  readonly outcome: Outcome
  /** Where the project's jobs are. */
  readonly jobsUrl: string | undefined
}

/** `base`: where the project's jobs are. */
export function jobSubject(part: Chunk, job: JobSnapshot, base: string | undefined): JobSubject {
  return { part, job, outcome: outcomeOfJob(job), jobsUrl: base }
}

const always = 'always'
const known = 'known'
const zeroWhenNull = 'always, 0 when null'
const hasRunner = 'has a runner'
const deploys = 'deploys to an environment'

const ending = thing<JobSubject, JobSnapshot>(
  ({ job }) => job,
  (a, b) => a.status === b.status && a.failureReason === b.failureReason,
)
const course = thing<JobSubject, JobSnapshot>(
  ({ job }) => job,
  (a, b) =>
    a.status === b.status &&
    a.failureReason === b.failureReason &&
    a.kind === b.kind &&
    a.manual === b.manual &&
    a.allowFailure === b.allowFailure &&
    a.when === b.when &&
    a.createdAt === b.createdAt,
)
const user = thing<JobSubject, Person>(
  ({ job }) => job.user,
  (a, b) => a.id === b.id && a.username === b.username,
)
const artifacts = thing<JobSubject, NonNullable<JobSnapshot['artifacts']>>(
  ({ job }) => job.artifacts,
  (a, b) => a.filename === b.filename && a.size === b.size,
)
const runner = thing<JobSubject, Runner>(
  ({ job }) => job.runner,
  (a, b) =>
    a.id === b.id &&
    a.description === b.description &&
    a.type === b.type &&
    a.active === b.active &&
    a.isShared === b.isShared &&
    sameList(a.tags, b.tags),
)
const environment = thing<JobSubject, Environment>(
  ({ job }) => job.environment,
  (a, b) => a.name === b.name && a.action === b.action && a.deploymentTier === b.deploymentTier,
)

/** The conventions have no name for a task's state: it follows theirs for the run. */
const taskRunState = 'cicd.pipeline.task.run.state'

/** Prettier would give each row eight lines; a table reads better with one or two. */
// prettier-ignore
export const jobAttributes: readonly AttributeRow<JobSubject>[] = [
  { keys: ['job.id'], type: 'int', when: always, value: ({ job }) => job.id },
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_ID], type: 'string', when: always, value: ({ job }) => new NumberedText('', job.id) },
  { keys: ['job.name', ATTR_CICD_PIPELINE_TASK_NAME], type: 'string', when: always, value: ({ job }) => job.name ?? '' },
  { keys: ['job.stage', ATTR_CICD_PIPELINE_TASK_TYPE], type: 'string', when: always, value: ({ job }) => job.stage ?? '' },
  { keys: ['job.status'], type: 'string', when: always, note: 'as the platform says it', of: ending, value: ({ job }) => job.status },
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_RESULT], type: 'string', when: 'the job ended', note: 'mapped, below', of: ending, value: ({ outcome }) => outcome.result },
  { keys: [taskRunState], type: 'string', when: 'the status is known', note: 'mapped, below', of: ending, value: ({ job }) => stateOf(job.status) },
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_URL_FULL], type: 'string', when: always, value: urlOf },
  { keys: ['job.duration', 'platform.cicd.pipeline.task.run.duration'], type: 'int', when: zeroWhenNull, note: 'ms',
    value: ({ job }) => milliseconds(job.duration) ?? 0 },
  { keys: ['job.queued_duration', 'platform.cicd.pipeline.task.run.queued_duration'], type: 'int', when: zeroWhenNull, note: 'ms',
    value: ({ job }) => milliseconds(job.queuedDuration) ?? 0 },
  { keys: ['job.manual'], type: 'bool', when: always, of: course, value: ({ job }) => job.manual ?? false },
  { keys: ['job.allow_failure', 'platform.cicd.pipeline.task.allow_failure'], type: 'bool', when: always, of: course, value: ({ job }) => job.allowFailure ?? false },
  { keys: ['job.failure_reason', 'platform.cicd.pipeline.task.run.failure_reason'], type: 'string', when: 'failed, and known',
    of: course, value: ({ outcome }) => outcome.reason },
  { keys: [ATTR_ERROR_TYPE], type: 'string', when: 'failed', note: 'the failure reason, else `_OTHER`', of: course, value: ({ outcome }) => errorTypeOf(outcome) },
  { keys: ['job.type', 'platform.cicd.pipeline.task.kind'], type: 'string', when: 'bridges only', note: '`bridge`',
    of: course, value: ({ job }) => (job.kind === 'bridge' ? 'bridge' : undefined) },
  { keys: ['job.created_at', 'platform.cicd.pipeline.task.run.created_at'], type: 'nanoseconds', when: known,
    note: 'Unix ns', of: course, value: ({ job }) => job.createdAt },
  { keys: ['job.when', 'platform.cicd.pipeline.task.run.when'], type: 'string', when: known, of: course, value: ({ job }) => job.when },
  { keys: ['platform.cicd.pipeline.task.trigger.type'], type: 'string', when: known, note: "the pipeline's source",
    value: ({ part }) => part.pipeline.facts.source },
  { keys: ['job.user.id', 'platform.cicd.pipeline.task.user.id'], type: 'int', when: known, of: user, value: ({ job }) => job.user?.id },
  { keys: ['job.user.username', 'platform.cicd.pipeline.task.user.username'], type: 'string', when: known, of: user, value: ({ job }) => job.user?.username },
  { keys: ['job.artifacts.filename', 'platform.cicd.pipeline.task.artifacts.filename'], type: 'string', when: 'has an archive',
    of: artifacts, value: ({ job }) => job.artifacts?.filename },
  { keys: ['job.artifacts.size', 'platform.cicd.pipeline.task.artifacts.size'], type: 'int', when: 'has an archive', note: 'bytes',
    of: artifacts, value: ({ job }) => job.artifacts?.size },
  { keys: ['job.runner.id'], type: 'int', when: hasRunner, of: runner, value: ({ job }) => job.runner?.id },
  { keys: [ATTR_CICD_WORKER_ID], type: 'string', when: hasRunner, of: runner, value: ({ job }) => job.runner?.id.toString() },
  { keys: ['job.runner.description', ATTR_CICD_WORKER_NAME], type: 'string', when: hasRunner, of: runner, value: ({ job }) => job.runner?.description },
  { keys: ['job.runner.tags', 'platform.cicd.worker.tags'], type: 'string[]', when: hasRunner, of: runner, value: ({ job }) => job.runner?.tags },
  { keys: ['job.runner.type', 'platform.cicd.worker.type'], type: 'string', when: known, of: runner, value: ({ job }) => job.runner?.type },
  { keys: ['job.runner.active'], type: 'bool', when: known, of: runner, value: ({ job }) => job.runner?.active },
  { keys: [ATTR_CICD_WORKER_STATE], type: 'string', when: known, note: '`available` or `offline`', of: runner, value: ({ job }) => workerStateOf(job.runner?.active) },
  { keys: ['job.runner.is_shared', 'platform.cicd.runner.is_shared'], type: 'bool', when: known, of: runner, value: ({ job }) => job.runner?.isShared },
  { keys: ['job.environment.name', 'platform.cicd.pipeline.task.environment.name'], type: 'string', when: deploys,
    of: environment, value: ({ job }) => job.environment?.name },
  { keys: ['job.environment.action', 'platform.cicd.pipeline.task.environment.action'], type: 'string', when: deploys,
    of: environment, value: ({ job }) => job.environment?.action },
  { keys: ['job.environment.deployment_tier', 'platform.cicd.pipeline.task.environment.deployment_tier'], type: 'string', when: deploys,
    of: environment, value: ({ job }) => job.environment?.deploymentTier },
  { keys: ['job.retried', 'platform.cicd.pipeline.task.run.retried'], type: 'bool', when: 'a later run of the same job exists', note: 'always true',
    value: ({ job }) => job.retried || undefined },
  { keys: ['job.coverage', 'platform.cicd.pipeline.task.run.coverage'], type: 'double', when: known, note: 'percent', value: ({ job }) => job.coverage },
]

export function jobAttributesOf(part: Chunk, job: JobSnapshot, settings: TelemetrySettings): Attributes {
  return attributesOf(jobAttributes, jobSubject(part, job, jobsUrl(part)), styleOf(part, settings))
}

function urlOf({ job, jobsUrl: base }: JobSubject): string | NumberedText | undefined {
  return job.url ?? (base === undefined ? undefined : new NumberedText(base, job.id))
}

function workerStateOf(active: boolean | undefined): string | undefined {
  if (active === undefined) return undefined
  return active ? CICD_WORKER_STATE_VALUE_AVAILABLE : CICD_WORKER_STATE_VALUE_OFFLINE
}
