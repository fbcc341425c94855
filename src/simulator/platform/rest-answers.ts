// Creates responses of the REST API from the state: pipelines, jobs, bridges, projects, and commits. Times are in ISO 8601 with milliseconds.
import type { RestReply } from './rest-replies.ts'
import {
  hasWarnings,
  committedAt,
  durationOf,
  isOver,
  latestJobs,
  type SimJob,
  type SimPipeline,
  type PlatformState,
} from './state.ts'
import { secondsBetween } from './payloads.ts'
import { artifactsOf } from './job-files.ts'
import type { SimProject, SimRunner, SimUser } from './world.ts'

/** Returns a pipeline in the short form used in lists. */
export function restItem(pipeline: SimPipeline, instance: string): object {
  const { id, iid, plan, project, status, sha, createdAt, updatedAt } = pipeline
  return {
    id,
    iid,
    project_id: project.id,
    sha,
    ref: refOf(pipeline),
    status,
    source: plan.source,
    created_at: iso(createdAt),
    updated_at: iso(updatedAt),
    web_url: `${instance}/${project.path}/-/pipelines/${id}`,
    name: plan.name ?? null,
  }
}

function refOf({ ref, mergeRequest }: SimPipeline): string {
  return mergeRequest === undefined ? ref : `refs/merge-requests/${mergeRequest.iid}/head`
}

/** Returns a pipeline as it appears in the cross-project list, which has more fields. */
export function restCrossItem(pipeline: SimPipeline, instance: string): object {
  const { project, startedAt, finishedAt, mergeRequest } = pipeline
  return {
    ...restItem(pipeline, instance),
    started_at: iso(startedAt),
    finished_at: iso(finishedAt),
    duration: durationOf(pipeline) ?? null,
    queued_duration: null,
    merge_request:
      mergeRequest === undefined
        ? null
        : {
            iid: mergeRequest.iid,
            title: mergeRequest.title,
            web_url: `${instance}/${project.path}/-/merge_requests/${mergeRequest.iid}`,
          },
    project: restProject(project, instance, undefined),
  }
}

export function restPipeline(pipeline: SimPipeline, instance: string): object {
  const { plan, user, createdAt, startedAt, finishedAt, beforeSha, status } = pipeline
  const latest = latestJobs(pipeline)
  const coverage = latest.map(job => job.coverage).find(percent => percent !== undefined)
  const label = status === 'success' ? (hasWarnings(latest) ? 'passed with warnings' : 'passed') : status
  return {
    ...restItem(pipeline, instance),
    before_sha: beforeSha,
    tag: plan.tag ?? false,
    yaml_errors: plan.yamlErrors ?? null,
    user: restUser(user, instance),
    started_at: iso(startedAt),
    finished_at: iso(finishedAt),
    committed_at: iso(committedAt(pipeline)),
    duration: durationOf(pipeline) ?? null,
    queued_duration: startedAt === undefined ? null : Math.round((startedAt - createdAt) / 1000),
    coverage: coverage === undefined ? null : coverage.toFixed(2),
    detailed_status: { icon: `status_${status}`, text: label, label, group: status, has_details: true },
    archived: false,
  }
}

export function restJob(job: SimJob, pipeline: SimPipeline, instance: string): object {
  const { artifactsSize } = job
  const archive = artifactsSize === undefined ? undefined : { filename: 'artifacts.zip', size: artifactsSize }
  return {
    ...restTask(job, pipeline, instance),
    runner: restRunner(job.runner),
    tag_list: job.plan.tags,
    artifacts: [
      ...(archive === undefined
        ? []
        : [
            { file_type: 'archive', ...archive, file_format: 'zip' },
            { file_type: 'metadata', filename: 'metadata.gz', size: 186, file_format: 'gzip' },
          ]),
      ...[...artifactsOf(job, pipeline)].map(([type, { length: size }]) => ({
        ...{ file_type: type, filename: type === 'junit' ? 'junit.xml.gz' : `${type}.gz`, size, file_format: 'gzip' },
      })),
      ...(job.startedAt === undefined || job.finishedAt === undefined
        ? []
        : [
            {
              file_type: 'trace',
              filename: 'job.log',
              size: logSize(job.finishedAt - job.startedAt),
              file_format: null,
            },
          ]),
    ],
    ...(archive === undefined ? {} : { artifacts_file: archive }),
  }
}

export function restBridge(job: SimJob, pipeline: SimPipeline, instance: string): object {
  const { downstream } = job
  return {
    ...restTask(job, pipeline, instance),
    downstream_pipeline: downstream === undefined ? null : restItem(downstream, instance),
  }
}

export function restProject(project: SimProject, instance: string, lastActivityAt: number | undefined): object {
  const { id, name, path, description, defaultBranch } = project
  return {
    id,
    description,
    name,
    path: path.split('/').at(-1),
    path_with_namespace: path,
    default_branch: defaultBranch,
    web_url: `${instance}/${path}`,
    created_at: '2024-01-10T09:00:00.000Z',
    ...(lastActivityAt === undefined ? {} : { last_activity_at: iso(lastActivityAt) }),
    archived: false,
  }
}

function restTask(job: SimJob, pipeline: SimPipeline, instance: string): object {
  const { plan, status, createdAt, startedAt, finishedAt, failureReason, coverage, queuedAt } = job
  const { project, sha, commitMessage, user } = pipeline
  return {
    id: job.id,
    status,
    stage: plan.stage,
    name: plan.name,
    ref: refOf(pipeline),
    tag: pipeline.plan.tag ?? false,
    coverage: coverage ?? null,
    allow_failure: plan.allowFailure ?? null,
    created_at: iso(createdAt),
    started_at: iso(startedAt),
    finished_at: isOver(status) ? iso(finishedAt) : null,
    duration: secondsBetween(startedAt, finishedAt),
    queued_duration: secondsBetween(queuedAt, startedAt),
    user: restUser(job.user, instance),
    commit: {
      id: sha,
      title: commitMessage.split('\n', 1)[0],
      message: commitMessage,
      author_name: user.name,
      committed_date: iso(committedAt(pipeline)),
    },
    pipeline: restItem(pipeline, instance),
    ...(failureReason === undefined ? {} : { failure_reason: failureReason }),
    web_url: `${instance}/${project.path}/-/jobs/${job.id}`,
    project: { ci_job_token_scope_enabled: false },
  }
}

function restUser({ id, username, name }: SimUser, instance: string): object {
  return { id, username, name, state: 'active', avatar_url: null, web_url: `${instance}/${username}` }
}

/** Returns the size of a job log in bytes. The longer a job runs, the larger its log. */
function logSize(ranMs: number): number {
  return 2_400 + Math.round(ranMs / 9)
}

/** Returns a runner. Unlike webhooks, the API does not include the runner's tags, but it has `paused` in addition to `active`. */
function restRunner(runner: SimRunner | undefined): object | null {
  if (runner === undefined) return null
  const { id, description, type, isShared } = runner
  return { id, description, active: true, paused: false, is_shared: isShared, runner_type: type, online: true }
}

function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString()
}

/**
 * Returns the commits of a range. On the simulated platform a branch has one commit for each of its pipelines. `range` has the form `from..to`. Both
 * are full or short revisions, and `to` may also be a branch. Returns undefined if the project has no revision `from`.
 */
export function restCommits(state: PlatformState, project: SimProject, range: string): object[] | undefined {
  const [from = '', to = ''] = range.split('..')
  const own = [...state.pipelines.values()].filter(one => one.project.id === project.id)
  const commits = new Map(own.map(one => [one.sha, { sha: one.sha, ref: one.ref, at: committedAt(one) }]))
  const found = (name: string) => [...commits.values()].find(({ sha }) => name !== '' && sha.startsWith(name))
  const first = found(from)
  const last = found(to)
  if (first === undefined) return undefined
  return [...commits.values()]
    .filter(one => one.at > first.at && (last === undefined ? one.ref === to : one.at <= last.at))
    .sort((a, b) => b.at - a.at)
    .map(({ sha, at }) => {
      const date = new Date(at).toISOString()
      return { id: sha, short_id: sha.slice(0, 8), authored_date: date, committed_date: date }
    })
}

/**
 * Returns the web page for a path outside the API, such as `/acme/shop/-/pipelines/1`, to which Pipespan's pages link. The page explains what the
 * real platform would show there, and needs no login.
 */
export function webPage(path: string, { pipelines }: PlatformState): RestReply {
  const id = Number(/\/-\/pipelines\/(\d+)$/.exec(path)?.[1])
  const found = pipelines.get(id)
  const lines =
    found === undefined
      ? ['On a real platform, this link opens the page of the linked object.']
      : [
          `${found.plan.name ?? 'Pipeline'} #${found.id} of ${found.project.path}: ${found.status}.`,
          `${found.ref}: ${found.commitMessage.split('\n', 1)[0] ?? ''}`,
          ...found.jobs.map(({ plan, status }) => `${plan.stage} · ${plan.name}: ${status}`),
        ]
  const body = lines.map(line => `<p>${escaped(line)}</p>`).join('')
  return {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': "default-src 'none'" },
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Simulated platform</title><h1>Simulated platform</h1><p><code>${escaped(path)}</code></p>${body}</html>`,
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, one => `&#${one.charCodeAt(0)};`)
}
