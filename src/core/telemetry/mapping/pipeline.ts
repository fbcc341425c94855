// The attributes of the span and the log record of a pipeline.
import { ATTR_ERROR_TYPE } from '@opentelemetry/semantic-conventions'
import type { Chunk } from '../../../model/chunk.ts'
import { changeStateOf, errorTypeOf, outcomeOfPipeline, stateOf } from './statuses.ts'
import {
  ATTR_CICD_PIPELINE_ACTION_NAME,
  ATTR_CICD_PIPELINE_NAME,
  ATTR_CICD_PIPELINE_RESULT,
  ATTR_CICD_PIPELINE_RUN_ID,
  ATTR_CICD_PIPELINE_RUN_STATE,
  ATTR_CICD_PIPELINE_RUN_URL_FULL,
  ATTR_VCS_CHANGE_ID,
  ATTR_VCS_CHANGE_STATE,
  ATTR_VCS_CHANGE_TITLE,
  ATTR_VCS_REF_BASE_NAME,
  ATTR_VCS_REF_BASE_REVISION,
  ATTR_VCS_REF_BASE_TYPE,
  ATTR_VCS_REF_HEAD_NAME,
  ATTR_VCS_REF_HEAD_REVISION,
  ATTR_VCS_REF_HEAD_TYPE,
} from './semconv.ts'
import { pipelineUrl } from './job.ts'
import { milliseconds, notBlank, type AttributeRow } from './row.ts'
import type { Millis } from '../../../model/instant.ts'

/** The value of the attribute `cicd.pipeline.action.name`. */
export const runAction = 'RUN'

const always = 'always'
const known = 'known'
const emptyWhenNull = "always, `''` when null"
const zeroWhenNull = 'always, 0 when null'

// prettier-ignore
export const pipelineAttributes: readonly AttributeRow<Chunk>[] = [
  { keys: ['pipeline.id'], type: 'int', when: always, value: chunk => chunk.key.pipelineId },
  { keys: [ATTR_CICD_PIPELINE_RUN_ID], type: 'string', when: always, value: chunk => String(chunk.key.pipelineId) },
  { keys: ['pipeline.iid'], type: 'int', when: known, value: ({ pipeline }) => pipeline.facts.iid },
  { keys: ['pipeline.name'], type: 'string', when: emptyWhenNull, value: ({ pipeline }) => pipeline.facts.name ?? '' },
  { keys: [ATTR_CICD_PIPELINE_NAME], type: 'string', when: 'not blank', value: ({ pipeline }) => notBlank(pipeline.facts.name) },
  { keys: [ATTR_CICD_PIPELINE_ACTION_NAME], only: 'run', type: 'string', when: '`PIPESPAN_TRACES_SPAN_NAME=conventions`', note: '`RUN`, as in the name of the span',
    value: () => runAction },
  { keys: ['pipeline.ref', ATTR_VCS_REF_HEAD_NAME], type: 'string', when: always, note: 'the source branch in a merge request pipeline',
    value: ({ pipeline }) => pipeline.facts.ref ?? '' },
  { keys: ['pipeline.sha', ATTR_VCS_REF_HEAD_REVISION], type: 'string', when: always, value: ({ pipeline }) => pipeline.facts.sha ?? '' },
  { keys: ['pipeline.status'], type: 'string', when: always, note: "the platform's value", value: ({ pipeline }) => pipeline.facts.status },
  { keys: [ATTR_CICD_PIPELINE_RUN_STATE], type: 'string', when: 'the status is known', note: 'mapped, see below',
    value: ({ pipeline }) => stateOf(pipeline.facts.status) },
  { keys: [ATTR_CICD_PIPELINE_RESULT], type: 'string', when: 'the pipeline ended', note: 'mapped, see below', value: chunk => pipelineOutcome(chunk).result },
  { keys: ['pipeline.detailed_status'], type: 'string', when: "always, `''` when unknown", value: ({ pipeline }) => pipeline.facts.detailedStatus ?? '' },
  { keys: ['pipeline.duration', 'platform.cicd.pipeline.run.duration'], type: 'int', when: zeroWhenNull, note: 'ms; sum over attempts',
    value: ({ pipeline }) => milliseconds(pipeline.facts.duration) ?? 0 },
  { keys: ['pipeline.queued_duration', 'platform.cicd.pipeline.run.queued_duration'], type: 'int', when: zeroWhenNull, note: 'ms',
    value: ({ pipeline }) => milliseconds(pipeline.facts.queuedDuration) ?? 0 },
  { keys: ['pipeline.protected_ref', 'platform.vcs.ref.head.protected'], type: 'bool', when: known, note: 'webhooks report it, the API does not',
    value: ({ pipeline }) => pipeline.facts.protectedRef },
  { keys: ['pipeline.url', ATTR_CICD_PIPELINE_RUN_URL_FULL], type: 'string', when: always, value: chunk => pipelineUrl(chunk) },
  { keys: ['pipeline.tag'], type: 'bool', when: known, value: ({ pipeline }) => pipeline.facts.tag },
  { keys: [ATTR_VCS_REF_HEAD_TYPE], type: 'string', when: known, note: '`tag` or `branch`', value: ({ pipeline }) => refTypeOf(pipeline.facts.tag) },
  { keys: ['pipeline.before_sha', ATTR_VCS_REF_BASE_REVISION], type: 'string', when: 'present and not all zeros',
    value: ({ pipeline }) => realRevision(pipeline.facts.beforeSha) },
  { keys: ['pipeline.stages', 'platform.cicd.pipeline.stages'], type: 'string[]', when: known, note: "otherwise the stages of its jobs, in order", value: stagesOf },
  { keys: ['platform.cicd.pipeline.trigger.type'], type: 'string', when: known, note: "the pipeline's source. For `external`, only this span is exported, because what the platform lists as its jobs are statuses of another CI system",
    value: ({ pipeline }) => pipeline.facts.source },
  { keys: ['pipeline.user.id', 'platform.cicd.pipeline.user.id'], type: 'int', when: known, value: ({ pipeline }) => pipeline.facts.user?.id },
  { keys: ['pipeline.user.username', 'platform.cicd.pipeline.user.username'], type: 'string', when: known,
    value: ({ pipeline }) => pipeline.facts.user?.username },
  { keys: ['platform.cicd.pipeline.user.kind'], type: 'string', when: 'the user name is known', note: '`human`, `bot` or `service_account`, by the user name',
    value: ({ pipeline }) => userKindOf(pipeline.facts.user?.username) },
  { keys: ['pipeline.commit.id'], type: 'string', when: known, value: ({ pipeline }) => pipeline.facts.commit?.id },
  { keys: ['pipeline.commit.message', 'platform.vcs.ref.head.revision.message'], type: 'string', when: known,
    value: ({ pipeline }) => pipeline.facts.commit?.message },
  { keys: ['pipeline.merge_request.id'], type: 'int', when: 'merge request pipeline', value: ({ pipeline }) => pipeline.facts.mergeRequest?.id },
  { keys: ['pipeline.merge_request.iid'], type: 'int', when: 'merge request pipeline', value: ({ pipeline }) => pipeline.facts.mergeRequest?.iid },
  { keys: [ATTR_VCS_CHANGE_ID], type: 'string', when: 'merge request pipeline', note: 'the iid',
    value: ({ pipeline }) => pipeline.facts.mergeRequest?.iid.toString() },
  { keys: [ATTR_VCS_CHANGE_TITLE], type: 'string', when: known, value: ({ pipeline }) => pipeline.facts.mergeRequest?.title },
  { keys: [ATTR_VCS_CHANGE_STATE], type: 'string', when: known, note: 'mapped, see below',
    value: ({ pipeline }) => changeStateOf(pipeline.facts.mergeRequest?.state, pipeline.facts.mergeRequest?.draft) },
  { keys: [ATTR_VCS_REF_BASE_NAME], type: 'string', when: known, note: 'the target branch',
    value: ({ pipeline }) => pipeline.facts.mergeRequest?.targetBranch },
  { keys: [ATTR_VCS_REF_BASE_TYPE], type: 'string', when: known, note: '`branch`, of the target branch',
    value: ({ pipeline }) => (pipeline.facts.mergeRequest?.targetBranch === undefined ? undefined : 'branch') },
  { keys: ['platform.vcs.change.source.branch'], type: 'string', when: known, value: ({ pipeline }) => pipeline.facts.mergeRequest?.sourceBranch },
  { keys: ['platform.vcs.change.url.full'], type: 'string', when: known, value: ({ pipeline }) => pipeline.facts.mergeRequest?.url },
  { keys: ['platform.vcs.change.fork'], type: 'bool', when: known, note: "whether the source branch is in another project",
    value: ({ pipeline }) => pipeline.facts.mergeRequest?.fork },
  { keys: ['platform.cicd.pipeline.merge_request.event_type'], type: 'string', when: known,
    note: '`detached`, `merged_result` or `merge_train`; from the ref that the API reports (`refs/merge-requests/N/train`), because webhooks name the source branch', value: ({ pipeline }) => pipeline.mergeRequestEvent },
  { keys: ['platform.cicd.pipeline.run.committed_at'], type: 'nanoseconds', when: known, note: 'Unix ns', value: ({ pipeline }) => pipeline.facts.committedAt },
  { keys: ['platform.cicd.pipeline.run.feedback_time'], type: 'int', when: 'source `push` or `merge_request_event`, attempt 1',
    note: 'ms from the commit to the end', value: feedbackTime },
  { keys: ['platform.cicd.pipeline.run.compute_time'], type: 'int', when: known, note: 'ms; sum over the jobs of this attempt, without bridges',
    value: ({ pipeline }) => pipeline.computeMs },
  { keys: ['platform.cicd.pipeline.run.cost'], type: 'double', when: 'there is a price table', note: 'in the unit of the price table; sum over the jobs of this attempt',
    value: ({ pipeline }) => pipeline.cost },
  { keys: ['platform.cicd.pipeline.run.coverage'], type: 'double', when: known, note: 'percent', value: ({ pipeline }) => pipeline.facts.coverage },
  { keys: ['platform.cicd.pipeline.run.yaml_errors'], type: 'string', when: 'its configuration was refused', value: ({ pipeline }) => pipeline.facts.yamlErrors },
  { keys: ['pipeline.source_pipeline.pipeline_id', 'platform.cicd.pipeline.source_pipeline.id'], type: 'int', when: 'child or multi-project pipeline',
    value: ({ pipeline }) => pipeline.facts.sourcePipeline?.pipelineId },
  { keys: ['platform.cicd.pipeline.run.attempt'], type: 'int', when: 'attempt 2 and later', value: ({ attempt }) => (attempt > 1 ? attempt : undefined) },
  { keys: ['platform.cicd.pipeline.run.incomplete'], type: 'bool', when: 'exported before it ended, or without all its details',
    note: 'always true: the pipeline waits for a manual job or a schedule, or had no events for too long; or the API did not return its jobs, bridges or parent by `PIPESPAN_ENRICH_DEADLINE`, or refused to; or the pipeline has more than 50,000 jobs or bridges, or their list repeats itself',
    value: ({ pipeline }) => (pipeline.incomplete || pipeline.lacksDetails === true ? true : undefined) },
  { keys: [ATTR_ERROR_TYPE], type: 'string', when: 'result `failure`, `error` or `timeout`', note: 'the failure reason, otherwise `_OTHER`',
    value: chunk => errorTypeOf(pipelineOutcome(chunk)) },
]

/** Returns the result and the failure reason of the pipeline in the snapshot. */
export function pipelineOutcome({ pipeline }: Pick<Chunk, 'pipeline'>): ReturnType<typeof outcomeOfPipeline> {
  return outcomeOfPipeline(pipeline.facts.status, pipeline.failures)
}

/** Returns the value of the attribute `vcs.ref.head.type`. */
export function refTypeOf(tag: boolean | undefined): 'tag' | 'branch' | undefined {
  if (tag === undefined) return undefined
  return tag ? 'tag' : 'branch'
}

/** Returns the stages as listed by the platform, or else the stages of this chunk's jobs, whose ids are in stage order. */
function stagesOf({ pipeline, jobs }: Chunk): readonly string[] | undefined {
  const { stages = [] } = pipeline.facts
  if (stages.length > 0) return stages
  const inOrder = jobs.toSorted((a, b) => a.id - b.id).flatMap(({ stage }) => notBlank(stage) ?? [])
  return inOrder.length === 0 ? undefined : [...new Set(inOrder)]
}

/** Returns the revision, or undefined if it is all zeros, such as the `before_sha` of a branch's first pipeline. */
function realRevision(sha: string | undefined): string | undefined {
  return sha === undefined || /^0*$/.test(sha.trim()) ? undefined : sha
}

/** Matches the usernames that the platform gives to project tokens, group tokens and service accounts. */
const botName = /^(?:project|group)_.*_bot/
const serviceAccount = 'service_account'

/** Returns the user kind for this username. Undefined if there is no username. */
export function userKindOf(username: string | undefined): 'human' | 'bot' | 'service_account' | undefined {
  if (username === undefined) return undefined
  if (botName.test(username)) return 'bot'
  return username.startsWith(`${serviceAccount}_`) ? serviceAccount : 'human'
}

/** Returns the ms from the commit to the end of the pipeline. Undefined for pipelines that no author waits for, such as schedules and retries. */
export function feedbackTime({ attempt, pipeline }: Pick<Chunk, 'attempt' | 'pipeline'>): Millis | undefined {
  const { source, committedAt } = pipeline.facts
  const { finishedAt } = pipeline
  if (attempt > 1 || (source !== 'push' && source !== 'merge_request_event')) return undefined
  if (committedAt === undefined || finishedAt === undefined || finishedAt < committedAt) return undefined
  return finishedAt - committedAt
}
