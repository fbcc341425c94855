// Generates pipeline and job webhooks quickly, in the form that a platform sends. Each body is built once, and IDs are patched into a copy for each
// use.
import { Buffer } from 'node:buffer'
import { planOf, type Plan, type PlannedJob } from './plans.ts'
import { Random } from '../src/simulator/platform/random.ts'

/** A template for webhook bodies, into which IDs are patched. */
export interface Template {
  /** Returns a new copy of the body for pipeline `n` (0 to 9,999,999). */
  body(n: number): Buffer
}

/** The seven digits in a template that are replaced by the pipeline's number. */
const mark = '1234567'
const pipelineId = `100${mark}`
const start = Date.UTC(2026, 10, 20, 8, 0, 0)
/**
 * Number of pipelines that share the same times. The times of the next group are one second later, so that pipelines are sent in chronological order.
 */
const perSecond = 20
/** Number of distinct pipelines in one load. If all bodies had the same text, caches and compressors would appear too fast. */
const variants = 64

/** The share of a pipeline's jobs that have finished; the next job is running. 1 means that the pipeline has finished. */
export type Progress = number
export type JobState = 'created' | 'running' | 'finished'

/** A template for finished pipelines with this number of jobs. With 20 jobs a body is about 24.6 KB, as on the platform. */
export function finishedPipeline(jobs: number): Template {
  const random = new Random(jobs)
  const plans = Array.from({ length: Math.max(1, Math.min(variants, Math.floor(4_000 / jobs))) }, () =>
    planOf(jobs, random),
  )
  return oneOf(plans.map(plan => pipelineEvent(plan, 1)))
}

/** The webhook bodies of pipelines 0 to `count` - 1. */
export function bodiesOf(template: Template, count: number): Buffer[] {
  return Array.from({ length: count }, (_, n) => template.body(n))
}

/** A template that cycles through the given templates. */
export function oneOf(templates: readonly Template[]): Template {
  return {
    body: n => {
      const template = templates[n % templates.length]
      if (template === undefined) throw new RangeError('there is no template')
      return template.body(n)
    },
  }
}

export function pipelineEvent(plan: Plan, progress: Progress): Template {
  return templateOf(JSON.stringify(pipelineBody(plan, progress)))
}

export function jobEvent(plan: Plan, job: number, state: JobState): Template {
  return templateOf(JSON.stringify(jobBody(plan, job, state)))
}

/**
 * Makes a template from JSON. Times are moved forward by the pipeline's number. In the JSON, an ID is a string such as `"@1001234567@"`, whose digits
 * contain the mark `1234567`. The quotes and at signs are removed, and the pipeline's number replaces the mark.
 */
function templateOf(json: string): Template {
  const bytes = Buffer.from(json.replace(/"@(\d+)@"/g, '$1'))
  const places: number[] = []
  for (let at = bytes.indexOf(mark); at !== -1; at = bytes.indexOf(mark, at + 1)) places.push(at)
  const times = [...bytes.toString('latin1').matchAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g)].map(
    ({ index, 0: text }) => ({
      at: index,
      seconds: Date.parse(text) / 1000,
    }),
  )
  return {
    body: n => {
      const copy = Buffer.from(bytes)
      const digits = Buffer.from(String(n).padStart(mark.length, '0'), 'latin1')
      for (const place of places) copy.set(digits, place)
      const later = Math.floor(n / perSecond)
      for (const { at, seconds } of times) putTime(copy, at, seconds + later)
      return copy
    },
  }
}

/** Writes a time in the same month as the template's time. */
function putTime(body: Buffer, at: number, seconds: number): void {
  const ofMonth = seconds - startOfMonth
  put(body, at + 8, 1 + Math.floor(ofMonth / 86_400))
  put(body, at + 11, Math.floor(ofMonth / 3_600) % 24)
  put(body, at + 14, Math.floor(ofMonth / 60) % 60)
  put(body, at + 17, ofMonth % 60)
}

const startOfMonth = Date.UTC(2026, 10, 1) / 1000

/** Writes a number as two digits. */
function put(body: Buffer, at: number, value: number): void {
  body[at] = 48 + Math.floor(value / 10)
  body[at + 1] = 48 + (value % 10)
}

function pipelineBody(plan: Plan, progress: Progress): object {
  const { jobs, sha, ref } = plan
  const isOver = progress === 1
  const over = Math.floor(jobs.length * progress)
  const last = Math.max(...jobs.map(({ finishedAt }) => finishedAt))
  const status = isOver ? plan.status : progress === 0 ? 'created' : 'running'
  return {
    object_kind: 'pipeline',
    object_attributes: {
      id: `@${pipelineId}@`,
      iid: 42,
      name: 'Main',
      ref,
      tag: false,
      sha,
      before_sha: '0'.repeat(40),
      source: plan.source,
      status,
      detailed_status: status === 'success' ? 'passed' : status,
      stages: ['build', 'test', 'deploy'],
      created_at: wire(0),
      finished_at: isOver ? wire(last) : null,
      duration: isOver ? last - 10 : null,
      queued_duration: progress === 0 ? null : 10,
      protected_ref: true,
      variables: [],
      url: `${urlOf(plan)}/-/pipelines/${pipelineId}`,
    },
    merge_request: null,
    user: user(plan),
    project: project(plan),
    commit: {
      id: sha,
      message: `${plan.title}\n\nThe total was computed before the discount was known.\n`,
      title: plan.title,
      timestamp: '2026-11-20T07:59:21+00:00',
      url: `${urlOf(plan)}/-/commit/${sha}`,
      author: { name: plan.user.name, email: `${plan.user.username}@example.com` },
    },
    builds: jobs.map((job, at) =>
      build(plan, job, at, at < over ? 'finished' : at === over && progress > 0 ? 'running' : 'created'),
    ),
  }
}

function jobBody(plan: Plan, at: number, state: JobState): object {
  const job = plan.jobs[at]
  if (job === undefined) throw new RangeError(`there is no job ${at}`)
  const one = build(plan, job, at, state)
  return {
    object_kind: 'build',
    ref: plan.ref,
    tag: false,
    before_sha: '0'.repeat(40),
    sha: plan.sha,
    build_id: one.id,
    build_name: one.name,
    build_stage: one.stage,
    build_status: one.status,
    build_created_at: one.created_at,
    build_started_at: one.started_at,
    build_finished_at: one.finished_at,
    build_duration: one.duration,
    build_queued_duration: one.queued_duration,
    build_allow_failure: false,
    build_failure_reason: 'unknown_failure',
    pipeline_id: `@${pipelineId}@`,
    runner: one.runner,
    project_id: plan.project.id,
    project_name: `Acme / ${plan.project.group} / ${plan.project.name}`,
    user: one.user,
    commit: { id: `@${pipelineId}@`, sha: plan.sha, message: `${plan.title}\n`, status: 'running' },
    repository: { name: plan.project.name, homepage: urlOf(plan) },
    project: project(plan),
    environment: null,
  }
}

function build(plan: Plan, job: PlannedJob, at: number, state: JobState) {
  const began = state !== 'created'
  const over = state === 'finished'
  return {
    id: `@10${mark}${String(at).padStart(4, '0')}@`,
    stage: job.stage,
    name: job.name,
    status: over ? job.status : state,
    created_at: wire(0),
    started_at: began ? wire(job.startedAt) : null,
    finished_at: over ? wire(job.finishedAt) : null,
    duration: over ? job.duration : null,
    queued_duration: began ? job.queued : null,
    failure_reason: over && job.status === 'failed' ? 'script_failure' : null,
    when: 'on_success',
    manual: false,
    allow_failure: false,
    user: user(plan),
    runner: began
      ? {
          id: job.runner,
          description: `shared-runners-manager-${job.runner % 10}.git.example.com`,
          runner_type: 'instance_type',
          active: true,
          is_shared: true,
          tags: ['linux', 'docker', 'shared-runner', 'x86-64', 'large'],
        }
      : null,
    artifacts_file: { filename: 'artifacts.zip', size: 2520 },
    environment: job.deploys ? { name: 'production', action: 'start', deployment_tier: 'production' } : null,
  }
}

function user({ user: { id, name, username } }: Plan): object {
  return {
    id,
    name,
    username,
    avatar_url: `https://git.example.com/uploads/-/system/user/avatar/${id}/avatar.png?width=96&cache=${'0123456789abcdef'.repeat(21)}`,
    email: `${username}@example.com`,
  }
}

function project(plan: Plan): object {
  const { id, group, name } = plan.project
  return {
    id,
    name,
    description: 'Everything between the basket and the receipt.',
    web_url: urlOf(plan),
    avatar_url: null,
    git_ssh_url: `git@git.example.com:acme/${group}/${name}.git`,
    git_http_url: `${urlOf(plan)}.git`,
    namespace: group,
    visibility_level: 20,
    path_with_namespace: `acme/${group}/${name}`,
    default_branch: 'main',
    ci_config_path: null,
  }
}

function urlOf({ project: { group, name } }: Plan): string {
  return `https://git.example.com/acme/${group}/${name}`
}

function wire(seconds: number): string {
  return new Date(start + seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC')
}
