// Maps the fields of jobs to facts, for pipeline events, job events and REST API responses.
import {
  readCount,
  readFlag,
  readId,
  readSeconds,
  readStatus,
  readText,
  readTexts,
  readTime,
  readObject,
  anyOf,
  fieldsOf,
  record,
  type Read,
  type WireObject,
} from '../wire-read.ts'
import { isManual } from '../../model/status.ts'
import type { Environment, ObservedJob, JobFacts, JobTimes, Person, Runner } from '../../model/observation.ts'

/** Reads a person; undefined if there is neither an ID nor a name. */
export const readPerson = anyOf<Person>({ id: ['id', readId], username: ['username', readText] })

const readRunner = record<Runner>(['id'], {
  id: ['id', readId],
  description: ['description', readText],
  tags: ['tags', readTexts],
  type: ['runner_type', readText],
  active: ['active', readFlag],
  isShared: ['is_shared', readFlag],
})

const readEnvironmentObject = record<Environment>(['name'], {
  name: ['name', readText],
  action: ['action', readText],
  deploymentTier: ['deployment_tier', readText],
})

/** Reads an environment. It may be an object or, from some senders, only a name. */
const readEnvironment: Read<Environment> = value => {
  const name = readText(value)
  return name === undefined ? readEnvironmentObject(value) : { name }
}

export const readArtifacts = record<NonNullable<JobFacts['artifacts']>>(['filename'], {
  filename: ['filename', readText],
  size: ['size', readCount],
})

const readDownstream = record<NonNullable<JobFacts['downstream']>>(['pipelineId'], {
  pipelineId: ['id', readId],
  projectId: ['project_id', readId],
})

export const listedFacts = fieldsOf<JobFacts>({
  status: ['status', readStatus],
  name: ['name', readText],
  stage: ['stage', readText],
  duration: ['duration', readSeconds],
  queuedDuration: ['queued_duration', readSeconds],
  manual: ['manual', readFlag],
  allowFailure: ['allow_failure', readFlag],
  failureReason: ['failure_reason', readText],
  when: ['when', readText],
  user: ['user', readPerson],
  runner: ['runner', readRunner],
  artifacts: ['artifacts_file', readArtifacts],
  environment: ['environment', readEnvironment],
  downstream: ['downstream_pipeline', readDownstream],
})

export const listedTimes = fieldsOf<JobTimes>({
  createdAt: ['created_at', readTime],
  startedAt: ['started_at', readTime],
  finishedAt: ['finished_at', readTime],
})

const reportedFacts = fieldsOf<JobFacts>({
  status: ['build_status', readStatus],
  name: ['build_name', readText],
  stage: ['build_stage', readText],
  duration: ['build_duration', readSeconds],
  queuedDuration: ['build_queued_duration', readSeconds],
  allowFailure: ['build_allow_failure', readFlag],
  failureReason: ['build_failure_reason', readText],
  user: ['user', readPerson],
  runner: ['runner', readRunner],
  environment: ['environment', readEnvironment],
})

const reportedTimes = fieldsOf<JobTimes>({
  createdAt: ['build_created_at', readTime],
  startedAt: ['build_started_at', readTime],
  finishedAt: ['build_finished_at', readTime],
})

/** Reads the job times that only newer platforms send. */
const reportedIsoTimes = fieldsOf<JobTimes>({
  createdAt: ['build_created_at_iso', readTime],
  startedAt: ['build_started_at_iso', readTime],
  finishedAt: ['build_finished_at_iso', readTime],
})

/** The jobs or bridges of a pipeline event. */
export interface ListedJobs {
  readonly jobs: readonly ObservedJob[]
  /** The number of jobs in the list, including those without a usable ID or status. */
  readonly length: number
}

/** Reads the jobs in a list. They are of this `kind` unless an item is marked as a bridge. Returns undefined if the value is not a list. */
export function readListedJobs(value: unknown, kind: JobFacts['kind']): ListedJobs | undefined {
  if (!Array.isArray(value)) return undefined
  const jobs: ObservedJob[] = []
  for (const item of value) {
    const from = readObject(item)
    const id = from && readId(from.id)
    if (from === undefined || id === undefined) continue
    const facts = factsOf(from.bridge === true ? 'bridge' : kind, listedFacts(from))
    if (facts !== undefined) jobs.push({ id, facts, times: listedTimes(from) })
  }
  return { jobs, length: value.length }
}

/** Reads the job in a job event. Returns undefined if it has no usable ID or status. There are no job events for bridges. */
export function readReportedJob(hook: WireObject): ObservedJob | undefined {
  const id = readId(hook.build_id)
  const facts = factsOf('job', reportedFacts(hook))
  if (id === undefined || facts === undefined) return undefined
  return { id, facts, times: { ...reportedIsoTimes(hook), ...reportedTimes(hook) } }
}

/**
 * Returns the facts about a job. The failure reason is kept only for failed jobs, because job events always have one (`unknown_failure`). Only
 * pipeline events have a flag for manual jobs, so elsewhere the status shows that a job is manual. Copying with a leading spread is fastest.
 */
export function factsOf(kind: JobFacts['kind'], facts: Partial<JobFacts>): JobFacts | undefined {
  const { status } = facts
  if (status === undefined) return undefined
  if (facts.manual === undefined && isManual(status)) return factsOf(kind, { ...facts, manual: true })
  if (facts.failureReason === undefined || status === 'failed') return { ...facts, kind, status }
  const { failureReason: _, ...rest } = facts
  return { ...rest, kind, status }
}
