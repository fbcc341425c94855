// The attributes of the span and the log record of a job or bridge.
import { hasFailed, hasSucceeded } from '../../../model/status.ts'
import { ATTR_DEPLOYMENT_ENVIRONMENT_NAME, ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions'
import type { JobSnapshot, Chunk } from '../../../model/chunk.ts'
import { deploys } from '../../../model/job.ts'
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
  ATTR_CICD_WORKER_URL_FULL,
  ATTR_DEPLOYMENT_ID,
  ATTR_DEPLOYMENT_NAME,
  ATTR_DEPLOYMENT_STATUS,
} from './semconv.ts'
import { milliseconds, type AttributeRow } from './row.ts'
import { logArtifact, type ProjectFacts, type Runner } from '../../../model/observation.ts'
import { meaningOf, type FailureMeaning } from './failure-reasons.ts'

// Maps a stage name to a task type of the conventions.

/** The task types that the conventions define, and the words in stage names that indicate each type. */
export const taskTypes: Readonly<Record<string, readonly string[]>> = {
  build: ['build', 'builds', 'compile'],
  test: ['test', 'tests', 'testing'],
  deploy: ['deploy', 'deployment', 'deployments'],
}

/** Returns the task type of a stage, or undefined if none or several apply. */
export function taskTypeOf(stage: string | undefined): string | undefined {
  const words = new Set(stage?.toLowerCase().split(/[^a-z]+/))
  const meant = Object.entries(taskTypes).flatMap(([type, own]) => (own.some(word => words.has(word)) ? [type] : []))
  return meant.length === 1 ? meant[0] : undefined
}

export interface JobSubject {
  readonly chunk: Chunk
  readonly job: JobSnapshot
  readonly outcome: Outcome
  /** The part of a job's URL before the job id. */
  readonly jobsUrl: string | undefined
}

/** Returns a function that creates the subject for each job of a chunk. */
export function jobSubjects(chunk: Chunk): (job: JobSnapshot) => JobSubject {
  const url = jobsUrl(chunk)
  return job => ({ chunk, job, outcome: outcomeOfJob(job), jobsUrl: url })
}

const recurs = true
const always = 'always'
const known = 'known'
const zeroWhenNull = 'always, 0 when null'
const hasRunner = 'has a runner'
const hasEnvironment = 'deploys to an environment'
const startsDeployment = "the environment's action is `start`"
const sizesKnown = 'known from the API'
const ran = 'it ran; not in a supplement'

/** The conventions have no attribute for a task's state. This name is modelled on their attribute for a run's state. */
const taskRunState = 'cicd.pipeline.task.run.state'

/** The stage attribute in strict mode, in which the task type must be one that the conventions define. */
export const taskStage = 'platform.cicd.pipeline.task.stage'

// prettier-ignore
export const jobAttributes: readonly AttributeRow<JobSubject>[] = [
  { keys: ['job.id'], type: 'int', when: always, value: ({ job }) => job.id },
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_ID], type: 'string', when: always, value: ({ job }) => String(job.id) },
  { keys: ['job.name', ATTR_CICD_PIPELINE_TASK_NAME], recurs, type: 'string', when: always, value: ({ job }) => job.name ?? '' },
  { keys: ['job.stage', taskStage], only: 'strict', recurs, type: 'string', when: always, value: ({ job }) => job.stage ?? '' },
  { keys: [ATTR_CICD_PIPELINE_TASK_TYPE], only: 'strict', recurs, type: 'string', when: 'the name of the stage names a type', value: ({ job }) => taskTypeOf(job.stage) },
  { keys: ['job.stage', ATTR_CICD_PIPELINE_TASK_TYPE], only: 'contract', recurs, type: 'string', when: always, value: ({ job }) => job.stage ?? '' },
  { keys: ['job.status'], recurs, type: 'string', when: always, note: "the platform's value", value: ({ job }) => job.status },
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_RESULT], recurs, type: 'string', when: 'the job ended', note: 'mapped, see below', value: ({ outcome }) => outcome.result },
  { keys: [taskRunState], recurs, type: 'string', when: 'the status is known', note: 'mapped, see below', value: ({ job }) => stateOf(job.status) },
  { keys: [ATTR_CICD_PIPELINE_TASK_RUN_URL_FULL], type: 'string', when: always, value: urlOf },
  { keys: ['job.duration', 'platform.cicd.pipeline.task.run.duration'], type: 'int', when: zeroWhenNull, note: 'ms',
    value: ({ job }) => milliseconds(job.duration) ?? 0 },
  { keys: ['job.queued_duration', 'platform.cicd.pipeline.task.run.queued_duration'], type: 'int', when: zeroWhenNull, note: 'ms',
    value: ({ job }) => milliseconds(job.queuedDuration) ?? 0 },
  { keys: ['job.manual'], recurs, type: 'bool', when: always, value: ({ job }) => job.manual ?? false },
  { keys: ['job.allow_failure', 'platform.cicd.pipeline.task.allow_failure'], recurs, type: 'bool', when: always, value: ({ job }) => job.allowFailure ?? false },
  { keys: ['job.failure_reason', 'platform.cicd.pipeline.task.run.failure_reason'], recurs, type: 'string', when: 'failed, and known',
    value: ({ outcome }) => outcome.reason },
  { keys: [ATTR_ERROR_TYPE], recurs, type: 'string', when: 'failed', note: 'the failure reason, otherwise `_OTHER`', value: ({ outcome }) => errorTypeOf(outcome) },
  { keys: ['platform.cicd.failure.domain'], recurs, type: 'string', when: 'failed', note: '`user`, `platform` or `unknown`, by the failure reason, below',
    value: ({ outcome }) => failureDomainOf(outcome) },
  { keys: ['job.type', 'platform.cicd.pipeline.task.kind'], recurs, type: 'string', when: 'bridges only', note: '`bridge`',
    value: ({ job }) => (job.kind === 'bridge' ? 'bridge' : undefined) },
  { keys: ['job.created_at', 'platform.cicd.pipeline.task.run.created_at'], recurs, type: 'nanoseconds', when: known,
    note: 'Unix ns', value: ({ job }) => job.createdAt },
  { keys: ['job.when', 'platform.cicd.pipeline.task.run.when'], recurs, type: 'string', when: known, value: ({ job }) => job.when },
  { keys: ['platform.cicd.pipeline.task.trigger.type'], recurs, type: 'string', when: known, note: "the pipeline's source",
    value: ({ chunk }) => chunk.pipeline.facts.source },
  { keys: ['job.user.id', 'platform.cicd.pipeline.task.user.id'], recurs, type: 'int', when: known, value: ({ job }) => job.user?.id },
  { keys: ['job.user.username', 'platform.cicd.pipeline.task.user.username'], recurs, type: 'string', when: known, value: ({ job }) => job.user?.username },
  { keys: ['job.artifacts.filename', 'platform.cicd.pipeline.task.artifacts.filename'], recurs, type: 'string', when: 'has an archive',
    value: ({ job }) => job.artifacts?.filename },
  { keys: ['job.artifacts.size', 'platform.cicd.pipeline.task.artifacts.size'], type: 'int', when: 'has an archive', note: 'bytes',
    value: ({ job }) => job.artifacts?.size },
  { keys: ['platform.cicd.pipeline.task.artifacts.total_size'], type: 'int', when: sizesKnown, note: 'bytes: all artifacts and reports, without the log',
    value: ({ job }) => artifactsSize(job) },
  { keys: ['platform.cicd.pipeline.task.log.size'], type: 'int', when: sizesKnown, note: 'bytes', value: ({ job }) => logSize(job) },
  { keys: ['job.runner.id'], recurs, type: 'int', when: hasRunner, value: ({ job }) => job.runner?.id },
  { keys: [ATTR_CICD_WORKER_ID], recurs, type: 'string', when: hasRunner, value: ({ job }) => job.runner?.id.toString() },
  { keys: ['job.runner.description', ATTR_CICD_WORKER_NAME], recurs, type: 'string', when: hasRunner, value: ({ job }) => job.runner?.description },
  { keys: ['job.runner.tags', 'platform.cicd.worker.tags'], recurs, type: 'string[]', when: hasRunner, value: ({ job }) => job.runner?.tags },
  { keys: ['job.runner.type', 'platform.cicd.worker.type'], recurs, type: 'string', when: known, value: ({ job }) => job.runner?.type },
  { keys: ['job.runner.active'], recurs, type: 'bool', when: known, value: ({ job }) => job.runner?.active },
  { keys: [ATTR_CICD_WORKER_STATE], only: 'strict', recurs, type: 'string', when: 'it ran, and has a runner', value: ({ job }) => busyState(job) },
  { keys: [ATTR_CICD_WORKER_STATE], only: 'contract', recurs, type: 'string', when: known, note: '`available` or `offline`', value: ({ job }) => workerStateOf(job.runner?.active) },
  { keys: [ATTR_CICD_WORKER_URL_FULL], recurs, type: 'string', when: 'its runner belongs to the project or to the instance', note: "the runner's page", value: workerUrlOf },
  { keys: ['job.runner.is_shared', 'platform.cicd.runner.is_shared'], recurs, type: 'bool', when: known, value: ({ job }) => job.runner?.isShared },
  { keys: ['job.environment.name', 'platform.cicd.pipeline.task.environment.name'], recurs: 'environment', type: 'string', when: hasEnvironment,
    value: ({ job }) => job.environment?.name },
  { keys: ['job.environment.action', 'platform.cicd.pipeline.task.environment.action'], recurs: 'environment', type: 'string', when: hasEnvironment,
    value: ({ job }) => job.environment?.action },
  { keys: ['job.environment.deployment_tier', 'platform.cicd.pipeline.task.environment.deployment_tier'], recurs: 'environment', type: 'string', when: hasEnvironment,
    value: ({ job }) => job.environment?.deploymentTier },
  { keys: [ATTR_DEPLOYMENT_ENVIRONMENT_NAME], recurs: 'environment', type: 'string', when: startsDeployment, note: 'the environment that the job deploys to; on the resource, the configured environment',
    value: ({ job }) => (deploys(job) ? job.environment?.name : undefined) },
  { keys: [ATTR_DEPLOYMENT_NAME], recurs: 'deployment', type: 'string', when: startsDeployment, note: 'the name of the job',
    value: ({ job }) => (deploys(job) ? job.name : undefined) },
  { keys: [ATTR_DEPLOYMENT_STATUS], recurs: 'deployment', type: 'string', when: `${startsDeployment}, and succeeded or failed`, note: '`succeeded` or `failed`',
    value: ({ job }) => deploymentStatusOf(job) },
  { keys: [ATTR_DEPLOYMENT_ID], type: 'string', when: `${startsDeployment}, and an event of the deployment was received before the export`, value: ({ job }) => job.deploymentId?.toString() },
  { keys: ['platform.cicd.pipeline.task.run.critical'], recurs: 'path', type: 'bool', when: ran, note: 'on the critical path of its attempt',
    value: ({ job }) => (job.slack === undefined ? undefined : job.critical === true) },
  { keys: ['platform.cicd.pipeline.task.run.slack'], type: 'int', when: ran, note: 'how many ms later the job could have ended without delaying the end of its attempt',
    value: ({ job }) => job.slack },
  { keys: ['platform.cicd.pipeline.task.run.cost'], type: 'double', when: 'it ran, and a rule of the price table matches it', note: "in the table's unit",
    value: ({ job }) => job.cost },
  { keys: ['job.retried', 'platform.cicd.pipeline.task.run.retried'], recurs, type: 'bool', when: 'a later run of the same job exists', note: 'always true',
    value: ({ job }) => job.retried || undefined },
  { keys: ['job.coverage', 'platform.cicd.pipeline.task.run.coverage'], type: 'double', when: known, note: 'percent', value: ({ job }) => job.coverage },
]

function urlOf({ job, jobsUrl: url }: JobSubject): string | undefined {
  return job.url ?? (url === undefined ? undefined : `${url}${job.id}`)
}

/** Returns the runner's URL. Undefined for a group runner, because the job does not report which group owns the runner. */
function workerUrlOf({ chunk, job }: JobSubject): string | undefined {
  return job.runner === undefined ? undefined : runnerUrl(chunk, job.runner)
}

function workerStateOf(active: boolean | undefined): 'available' | 'offline' | undefined {
  if (active === undefined) return undefined
  return active ? 'available' : 'offline'
}

/** Returns the state of the runner while the job ran. */
function busyState({ runner, startedAt }: JobSnapshot): 'busy' | undefined {
  return runner === undefined || startedAt === undefined ? undefined : 'busy'
}

/** Returns who can fix the failure. Undefined if the job did not fail. */
function failureDomainOf(outcome: Outcome): FailureMeaning['domain'] | undefined {
  return errorTypeOf(outcome) === undefined ? undefined : meaningOf(outcome.reason ?? '').domain
}

/** Returns the total size in bytes of all artifacts and reports, without the job log. Undefined if no size is known. */
function artifactsSize({ artifactSizes }: JobSnapshot): number | undefined {
  if (artifactSizes === undefined) return undefined
  const sizes = Object.entries(artifactSizes).filter(([type]) => type !== logArtifact)
  return sizes.length === 0 ? undefined : sizes.reduce((sum, [, size]) => sum + size, 0)
}

function logSize({ artifactSizes }: JobSnapshot): number | undefined {
  return artifactSizes?.[logArtifact]
}

/** Returns the status of a deployment. The conventions define only the two final statuses. */
function deploymentStatusOf(job: JobSnapshot): 'succeeded' | 'failed' | undefined {
  if (!deploys(job)) return undefined
  if (hasSucceeded(job.status)) return 'succeeded'
  return hasFailed(job.status) ? 'failed' : undefined
}

// Builds the URLs of a project, a pipeline and its jobs if the platform did not report them.
export interface Placed {
  readonly key: { readonly instance: string }
  readonly project?: ProjectFacts | undefined
}

/** Returns the project's web URL, or a URL built from its path. Undefined if neither is known. */
export function projectUrl({ key, project }: Placed): string | undefined {
  const webUrl = project?.webUrl
  if (webUrl !== undefined) return webUrl.endsWith('/') ? webUrl.replace(/\/+$/, '') : webUrl
  return project?.path === undefined ? undefined : `${key.instance}/${project.path}`
}

export function pipelineUrl(chunk: Pick<Chunk, 'key' | 'project' | 'pipeline'>): string | undefined {
  return chunk.pipeline.facts.url ?? below(chunk, `pipelines/${chunk.key.pipelineId}`)
}

/** Returns the part of a job's URL before the job id. */
function jobsUrl(chunk: Placed): string | undefined {
  return below(chunk, 'jobs/')
}

/** Returns the web page of a runner that belongs to the project or the instance. Undefined for other runners. */
function runnerUrl(chunk: Placed, { id, type }: Pick<Runner, 'id' | 'type'>): string | undefined {
  if (type === 'instance_type') return `${chunk.key.instance}/admin/runners/${id}`
  return type === 'project_type' ? below(chunk, `runners/${id}`) : undefined
}

function below(chunk: Placed, path: string): string | undefined {
  const project = projectUrl(chunk)
  return project === undefined ? undefined : `${project}/-/${path}`
}
