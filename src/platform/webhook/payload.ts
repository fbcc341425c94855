// Turns pipeline and job events into observations. The reader is tolerant: unknown fields and statuses are accepted, an optional field of the wrong
// type is dropped, and only indispensable fields are required. No name in an observation is in snake_case. Only the pipeline variables that
// `wanted-facts.ts` names are read.
import { readVariables } from '../wanted-facts.ts'
import { PayloadError } from '../../lib/fault.ts'
import { readListedJobs, readPerson, readReportedJob } from './job-fields.ts'
import { maxItems } from '../port.ts'
import { instanceOf, lastName, projectFacts, projectOf, type HookContext } from './hook-project.ts'
import {
  readFlag,
  readId,
  readMessage,
  readObject,
  readPercent,
  readSeconds,
  readStatus,
  readText,
  readTexts,
  readTitle,
  readTime,
  readUrl,
  anyOf,
  fieldsOf,
  record,
  type WireObject,
  type Read,
} from '../wire-read.ts'
import { mergeRequestEventOfRef } from '../../model/pipeline.ts'
import type {
  Observation,
  PipelineFacts,
  PipelineTimes,
  SourcePipeline,
  MergeRequest,
} from '../../model/observation.ts'

export interface ReadHook {
  readonly observation: Observation
  /** Number of jobs and bridges dropped because they have no usable ID or status. */
  readonly dropped: number
}

const pipelineFacts = fieldsOf<PipelineFacts>({
  status: ['status', readStatus],
  iid: ['iid', readId],
  name: ['name', readTitle],
  ref: ['ref', readText],
  sha: ['sha', readText],
  beforeSha: ['before_sha', readText],
  tag: ['tag', readFlag],
  source: ['source', readText],
  detailedStatus: ['detailed_status', readText],
  stages: ['stages', readTexts],
  duration: ['duration', readSeconds],
  queuedDuration: ['queued_duration', readSeconds],
  protectedRef: ['protected_ref', readFlag],
  url: ['url', readUrl],
  rootPipelineId: ['root_pipeline_id', readId],
  coverage: ['coverage', readPercent],
  yamlErrors: ['yaml_errors', readMessage],
})

const pipelineTimes = fieldsOf<PipelineTimes>({
  createdAt: ['created_at', readTime],
  finishedAt: ['finished_at', readTime],
})

const readCommit = anyOf<NonNullable<PipelineFacts['commit']>>({
  id: ['id', readText],
  message: ['message', readMessage],
})

/** Returns the observation for a pipeline event. Throws a PayloadError that names the missing fields. */
export function readPipelineHook(hook: WireObject, context: HookContext): ReadHook {
  const attributes = readObject(hook.object_attributes)
  const projectFields = readObject(hook.project)
  const pipelineId = attributes && readId(attributes.id)
  const projectId = projectFields && readId(projectFields.id)
  const facts = attributes === undefined ? {} : pipelineFacts(attributes)
  const { status } = facts
  if (attributes === undefined || pipelineId === undefined || status === undefined || projectId === undefined) {
    const missing = [
      ...(attributes === undefined ? ['object_attributes'] : []),
      ...(attributes !== undefined && pipelineId === undefined ? ['object_attributes.id'] : []),
      ...(attributes !== undefined && status === undefined ? ['object_attributes.status'] : []),
      ...(projectFields === undefined ? ['project'] : []),
      ...(projectFields !== undefined && projectId === undefined ? ['project.id'] : []),
    ]
    throw unusable('pipeline', missing)
  }
  const project = projectFacts(projectFields ?? {})
  const instance = instanceOf(context, project)
  // Very old platforms call the field `jobs` instead of `builds`. Only the newest platforms send `bridges`.
  const listed = readListedJobs(hook.builds, 'job') ?? readListedJobs(hook.jobs, 'job') ?? { jobs: [], length: 0 }
  const bridges = readListedJobs(hook.bridges, 'bridge')
  const listedTotal = listed.length + (bridges?.length ?? 0)
  if (listedTotal > maxItems) throw tooMany(listedTotal)
  const jobs = bridges === undefined ? listed.jobs : [...listed.jobs, ...bridges.jobs]
  const user = readPerson(hook.user)
  const commit = readCommit(hook.commit)
  const committedAt = readTime(readObject(hook.commit)?.timestamp)
  const mergeRequest = readMergeRequest(hook.merge_request)
  const mergeRequestEvent = readText(attributes.merge_request_event_type) ?? mergeRequestEventOfRef(facts.ref)
  const labels = context.wanted?.labels(readObject(hook.merge_request)?.labels)
  const isNew = bridges !== undefined || facts.rootPipelineId !== undefined
  const sourcePipeline = sourcePipelineOf(hook.source_pipeline, isNew, facts.source === 'parent_pipeline')
  const variables = readVariables(attributes.variables, context.wanted?.variables)
  const allowed = context.wanted?.valuesOf(variables)
  const traceparent = context.traceparent ? variables?.traceparent : undefined
  const pipeline: PipelineFacts = {
    ...facts,
    status,
    ...(user && { user }),
    ...(commit && { commit }),
    ...(committedAt !== undefined && { committedAt }),
    ...(mergeRequest && { mergeRequest }),
    ...(labels !== undefined && { labels }),
    ...(sourcePipeline && { sourcePipeline }),
    ...(bridges !== undefined && { bridgesAreListed: true }),
    ...(variables?.isDebugTraced === true && { isDebugTraced: true }),
    ...(traceparent !== undefined && { traceparent }),
    ...(allowed !== undefined && { variables: allowed }),
  }
  return {
    observation: {
      key: { instance, pipelineId },
      origin: 'webhook',
      project: projectOf(projectId, project, instance),
      pipeline: { facts: pipeline, times: pipelineTimes(attributes) },
      ...(mergeRequestEvent !== undefined && { mergeRequestEvent }),
      jobs,
    },
    dropped: listedTotal - jobs.length,
  }
}

/**
 * Returns the observation for a job event, which contains only facts about the job. `commit.id` is not read, because it is the pipeline's ID. Throws
 * like `readPipelineHook`.
 */
export function readJobHook(hook: WireObject, context: HookContext): ReadHook {
  const job = readReportedJob(hook)
  const pipelineId = readId(hook.pipeline_id)
  if (job === undefined || pipelineId === undefined) {
    const missing = [
      ...(readId(hook.build_id) === undefined ? ['build_id'] : []),
      ...(readStatus(hook.build_status) === undefined ? ['build_status'] : []),
      ...(pipelineId === undefined ? ['pipeline_id'] : []),
    ]
    throw unusable('job', missing)
  }
  // Only newer platforms include the project in a job event.
  const projectFields = readObject(hook.project)
  const projectId = readId(hook.project_id) ?? readId(projectFields?.id)
  if (projectId === undefined) throw unusable('job', ['project_id'])
  const repository = readObject(hook.repository)
  const project = projectFacts(projectFields ?? {})
  const name = project.name ?? readText(repository?.name) ?? lastName(readText(hook.project_name))
  const webUrl = project.webUrl ?? readUrl(repository?.homepage)
  const named = { ...project, ...(name !== undefined && { name }), ...(webUrl !== undefined && { webUrl }) }
  const instance = instanceOf(context, named)
  return {
    observation: {
      key: { instance, pipelineId },
      origin: 'webhook',
      project: projectOf(projectId, named, instance),
      jobs: [job],
    },
    dropped: 0,
  }
}

/**
 * Returns the pipeline that triggered this one. If the platform reports the bridge or the root pipeline, or lists bridges (`isNew`), it also lists
 * the bridges of the triggering pipeline. A child pipeline (`isChild`) is always triggered by a bridge. A pipeline in another project may be
 * triggered by a job with its job token.
 */
function sourcePipelineOf(value: unknown, isNew: boolean, isChild: boolean): SourcePipeline | undefined {
  const from = readObject(value)
  const pipelineId = from && readId(from.pipeline_id)
  if (from === undefined || pipelineId === undefined) return undefined
  const projectId = readId(readObject(from.project)?.id)
  const bridgeId = readId(from.bridge_id)
  const jobId = bridgeId ?? readId(from.job_id)
  return {
    pipelineId,
    ...(projectId !== undefined && { projectId }),
    ...(jobId !== undefined && { jobId }),
    ...((bridgeId !== undefined || (isNew && isChild)) && { bridgesAreListed: true }),
    ...(isNew && !isChild && bridgeId === undefined && jobId !== undefined && { startedByJob: true }),
  }
}

function tooMany(jobs: number): PayloadError {
  return new PayloadError(
    `The pipeline event lists ${jobs} jobs, but Pipespan reads no event with more than ${maxItems}.`,
    'Split the pipeline into child pipelines.',
  )
}

/** Creates an error that names fields but never their values. */
function unusable(event: string, fields: readonly string[]): PayloadError {
  return new PayloadError(
    `The ${event} event has no usable ${fields.join(', ')}.`,
    "If its webhook has a custom template, remove it: only the platform's standard payload can be decoded.",
  )
}

interface WireMergeRequest extends Omit<MergeRequest, 'fork'> {
  readonly sourceProjectId?: number | undefined
  /** The field that marks a draft on older platforms. */
  readonly workInProgress?: boolean | undefined
}

/** Reads a boolean. Null counts as absent, because another field may still mark the merge request as a draft. */
const readBoolean: Read<boolean> = value => (typeof value === 'boolean' ? value : undefined)

const readFields = record<WireMergeRequest>(['iid'], {
  id: ['id', readId],
  iid: ['iid', readId],
  title: ['title', readTitle],
  state: ['state', readText],
  draft: ['draft', readBoolean],
  sourceBranch: ['source_branch', readText],
  targetBranch: ['target_branch', readText],
  url: ['url', readUrl],
  sourceProjectId: ['source_project_id', readId],
  targetProjectId: ['target_project_id', readId],
  workInProgress: ['work_in_progress', readBoolean],
})

/** Matches the platform's draft prefix in a title. Most pipeline events mark a draft in no other way. */
const draftTitle = /^\s*(?:draft:|\[draft\]|\(draft\))/i

const readMergeRequest: Read<MergeRequest> = value => {
  const read = readFields(value)
  if (read === undefined) return undefined
  const { sourceProjectId: source, targetProjectId: target, workInProgress, ...facts } = read
  const draft =
    facts.draft ?? workInProgress ?? (draftTitle.test(facts.title ?? '') || readFlag(readObject(value)?.draft))
  return {
    ...facts,
    ...(draft !== undefined && { draft }),
    ...(source !== undefined && target !== undefined && { fork: source !== target }),
    ...(source !== undefined && target !== undefined && source !== target && { targetProjectId: target }),
  }
}
