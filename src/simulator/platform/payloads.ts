// Creates payloads from the state: pipeline, job and deployment events in the platform's format.
import { hasWarnings, durationOf, latestJobs, rootOf, type SimJob, type SimPipeline, committedAt } from './state.ts'
import type { Random } from './random.ts'
import type { SimProject, SimRunner, SimUser } from './world.ts'

export interface PayloadOptions {
  /** The base URL of the platform. */
  readonly instance: string
  /** Whether to include the fields that only the newest platforms send: `bridges[]`, `root_pipeline_id`, `source_pipeline.bridge_id`. */
  readonly newest: boolean
}

const detailedStatuses: Readonly<Record<string, string>> = { success: 'passed', manual: 'waiting for manual action' }

/** Returns the payload of a pipeline event. As on the platform, `builds` contains only the latest run of each job, in random order. */
export function pipelinePayload(pipeline: SimPipeline, options: PayloadOptions, random: Random): object {
  const { instance, newest } = options
  const { plan, project, mergeRequest, trigger } = pipeline
  const latest = latestJobs(pipeline)
  return {
    object_kind: 'pipeline',
    object_attributes: {
      id: pipeline.id,
      iid: pipeline.iid,
      name: plan.name ?? null,
      ref: pipeline.ref,
      tag: plan.tag ?? false,
      sha: pipeline.sha,
      before_sha: pipeline.beforeSha,
      source: plan.source,
      status: pipeline.status,
      detailed_status:
        pipeline.status === 'success' && hasWarnings(latest)
          ? 'passed with warnings'
          : (detailedStatuses[pipeline.status] ?? pipeline.status),
      stages: plan.stages,
      created_at: wireTime(pipeline.createdAt),
      finished_at: maybeTime(pipeline.finishedAt),
      duration: durationOf(pipeline) ?? null,
      queued_duration: wholeSeconds(pipeline.createdAt, pipeline.startedAt),
      protected_ref: plan.tag === true || pipeline.ref === project.defaultBranch,
      variables: plan.variables ?? [],
      url: `${instance}/${project.path}/-/pipelines/${pipeline.id}`,
      ...(newest ? { root_pipeline_id: rootOf(pipeline).id } : {}),
    },
    merge_request:
      mergeRequest === undefined
        ? null
        : {
            id: mergeRequest.id,
            iid: mergeRequest.iid,
            title: mergeRequest.title,
            source_branch: mergeRequest.sourceBranch,
            source_project_id: project.id,
            target_branch: mergeRequest.targetBranch,
            target_project_id: project.id,
            state: 'opened',
            url: `${instance}/${project.path}/-/merge_requests/${mergeRequest.iid}`,
          },
    user: wireUser(pipeline.user),
    project: wireProject(project, instance),
    commit: wireCommit(pipeline, instance),
    builds: random.shuffle(latest.filter(({ kind }) => kind === 'job')).map(job => wireJob(job)),
    ...(newest ? { bridges: random.shuffle(latest.filter(({ kind }) => kind === 'bridge')).map(wireBridge) } : {}),
    ...(trigger === undefined ? {} : { source_pipeline: sourcePipeline(trigger, options) }),
  }
}

/**
 * Returns the payload of a job event. It is flat and has the platform's quirks: a failure reason even on success, and the pipeline's id in
 * `commit.id`.
 */
export function jobPayload(job: SimJob, pipeline: SimPipeline, options: PayloadOptions): object {
  const { instance } = options
  const { plan, project, ref, sha, beforeSha, user, commitMessage } = pipeline
  return {
    object_kind: 'build',
    ref,
    tag: plan.tag ?? false,
    before_sha: beforeSha,
    sha,
    build_id: job.id,
    build_name: job.plan.name,
    build_stage: job.plan.stage,
    build_status: job.status,
    build_created_at: wireTime(job.createdAt),
    build_started_at: maybeTime(job.startedAt),
    build_finished_at: maybeTime(job.finishedAt),
    build_duration: secondsBetween(job.startedAt, job.finishedAt),
    build_queued_duration: secondsBetween(job.queuedAt, job.startedAt),
    build_allow_failure: job.plan.allowFailure ?? false,
    build_failure_reason: job.failureReason ?? 'unknown_failure',
    pipeline_id: pipeline.id,
    runner: wireRunner(job.runner),
    project_id: project.id,
    project_name: `${namespaceOf(project.path)} / ${project.name}`,
    user: wireUser(job.user),
    commit: {
      id: pipeline.id,
      name: plan.name ?? null,
      sha,
      message: commitMessage,
      author_name: user.name,
      status: pipeline.status,
      duration: durationOf(pipeline) ?? null,
      started_at: maybeTime(pipeline.startedAt),
      finished_at: maybeTime(pipeline.finishedAt),
    },
    project: wireProject(project, instance),
    environment: wireEnvironment(job),
  }
}

function wireJob(job: SimJob): object {
  return {
    ...wireTask(job),
    runner: wireRunner(job.runner),
    artifacts_file: {
      filename: job.artifactsSize === undefined ? null : 'artifacts.zip',
      size: job.artifactsSize ?? null,
    },
    environment: wireEnvironment(job),
  }
}

function wireBridge(job: SimJob): object {
  const { downstream } = job
  return {
    ...wireTask(job),
    downstream_pipeline:
      downstream === undefined
        ? null
        : { id: downstream.id, project_id: downstream.project.id, status: downstream.status },
  }
}

/** The fields that jobs and bridges have in common. */
function wireTask(job: SimJob): object {
  const { plan } = job
  return {
    id: job.id,
    stage: plan.stage,
    name: plan.name,
    status: job.status,
    created_at: wireTime(job.createdAt),
    started_at: maybeTime(job.startedAt),
    finished_at: maybeTime(job.finishedAt),
    duration: secondsBetween(job.startedAt, job.finishedAt),
    queued_duration: secondsBetween(job.queuedAt, job.startedAt),
    failure_reason: job.failureReason ?? null,
    when: plan.when ?? 'on_success',
    manual: plan.when === 'manual',
    allow_failure: plan.allowFailure ?? false,
    user: wireUser(job.user),
  }
}

/** Returns the payload of a deployment event, or undefined for a job that deploys nothing or has not started. */
export function deploymentPayload(
  job: SimJob,
  pipeline: SimPipeline,
  at: number,
  { instance }: PayloadOptions,
): object | undefined {
  const { environment } = job.plan
  const isReported = ['running', 'success', 'failed', 'canceled'].includes(job.status)
  if (environment === undefined || !isReported) return undefined
  const { project, sha, user } = pipeline
  const page = `${instance}/${project.path}`
  return {
    object_kind: 'deployment',
    status: job.status,
    status_changed_at: wireTime(at).replace('UTC', '+0000'),
    deployment_id: job.id + 500_000,
    deployable_id: job.id,
    deployable_url: `${page}/-/jobs/${job.id}`,
    environment: environment.name,
    environment_tier: environment.tier,
    project: wireProject(project, instance),
    short_sha: sha.slice(0, 8),
    user: wireUser(user),
    commit_url: `${page}/-/commit/${sha}`,
  }
}

function wireEnvironment({ plan: { environment } }: SimJob): object | null {
  if (environment === undefined) return null
  return { name: environment.name, action: 'start', deployment_tier: environment.tier }
}

function sourcePipeline({ pipeline, bridge }: NonNullable<SimPipeline['trigger']>, options: PayloadOptions): object {
  const { id, path } = pipeline.project
  return {
    project: { id, web_url: `${options.instance}/${path}`, path_with_namespace: path },
    job_id: bridge.id,
    pipeline_id: pipeline.id,
    ...(options.newest ? { bridge_id: bridge.id } : {}),
  }
}

function wholeSeconds(from: number, to: number | undefined): number | null {
  return to === undefined ? null : Math.round((to - from) / 1000)
}

/** Formats a time as `2026-06-01 12:00:00 UTC`. Real webhooks also truncate times to the second. */
export function wireTime(at: number): string {
  const iso = new Date(at).toISOString()
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`
}

function maybeTime(at: number | undefined): string | null {
  return at === undefined ? null : wireTime(at)
}

/** Returns the fractional number of seconds between two times. */
export function secondsBetween(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : (to - from) / 1000
}

export function wireUser({ id, name, username, email }: SimUser): object {
  return { id, name, username, avatar_url: `https://www.gravatar.com/avatar/${id}?s=80&d=identicon`, email }
}

function wireRunner(runner: SimRunner | undefined): object | null {
  if (runner === undefined) return null
  const { id, description, type, isShared, tags } = runner
  return { id, description, runner_type: type, active: true, is_shared: isShared, tags }
}

export function wireProject(project: SimProject, instance: string): object {
  const { id, name, path, description, defaultBranch } = project
  return {
    id,
    name,
    description,
    web_url: `${instance}/${path}`,
    namespace: namespaceOf(path),
    path_with_namespace: path,
    default_branch: defaultBranch,
  }
}

/** Returns the name of the group in a path: `acme/shop/web` → `Shop`. */
function namespaceOf(path: string): string {
  const group = path.split('/').at(-2) ?? ''
  return group.charAt(0).toUpperCase() + group.slice(1)
}

function wireCommit(pipeline: SimPipeline, instance: string): object {
  const { sha, commitMessage, project, user } = pipeline
  return {
    id: sha,
    message: commitMessage,
    title: commitMessage.split('\n', 1)[0],
    timestamp: new Date(committedAt(pipeline)).toISOString().replace(/\.\d+Z$/, '+00:00'),
    url: `${instance}/${project.path}/-/commit/${sha}`,
    author: { name: user.name, email: user.email },
  }
}
