// Pipeline and job webhooks as a platform sends them, made fast: a body is built once and its ids are patched in for each use.
import { Buffer } from 'node:buffer'

/** A body with room for ids: the same length whatever they are. */
export interface Template {
  readonly bytes: number
  /** A fresh copy for pipeline `n` (0 to 9,999,999). */
  body(n: number): Buffer
}

const pipelineMark = '1234567'
const firstPipeline = 1_000_000_000
const start = Date.UTC(2026, 10, 20, 8, 0, 0)

/** A finished pipeline of so many jobs. Twenty make about 24.6 KB, as on the platform. */
export function finishedPipeline(jobs: number): Template {
  return templateOf(JSON.stringify(pipeline(jobs, 'success')))
}

/** The same pipeline while it runs: the first half of its jobs is done. */
export function runningPipeline(jobs: number): Template {
  return templateOf(JSON.stringify(pipeline(jobs, 'running')))
}

/** A job event of that pipeline. */
export function jobEvent(job: number, jobs: number): Template {
  const build = buildOf(job, jobs, 'success')
  return templateOf(
    JSON.stringify({
      object_kind: 'build',
      ref: 'main',
      tag: false,
      before_sha: '0'.repeat(40),
      sha: 'a'.repeat(40),
      build_id: build.id,
      build_name: build.name,
      build_stage: build.stage,
      build_status: 'success',
      build_created_at: build.created_at,
      build_started_at: build.started_at,
      build_finished_at: build.finished_at,
      build_duration: build.duration,
      build_queued_duration: build.queued_duration,
      build_allow_failure: false,
      build_failure_reason: 'unknown_failure',
      pipeline_id: `@${pipelineMark}@`,
      runner: build.runner,
      project_id: 4711,
      project_name: 'Acme / shop / checkout',
      user: build.user,
      commit: {
        id: `@${pipelineMark}@`,
        sha: 'a'.repeat(40),
        message: 'Take the discount into account\n',
        status: 'running',
      },
      repository: { name: 'checkout', homepage: 'https://git.example.com/acme/shop/checkout' },
      project: project(),
      environment: null,
    }),
  )
}

/** Ids stand in the text as `"@1234567@"` and `"@1234567NNNN@"`: numbers of a fixed width replace them. */
function templateOf(json: string): Template {
  const text = json.replace(/"@1234567(\d{4})?@"/g, (_, job: string | undefined) =>
    job === undefined ? `${firstPipeline / 1_000_000_000}00${pipelineMark}` : `10${pipelineMark}${job}`,
  )
  const bytes = Buffer.from(text)
  const places: number[] = []
  for (let at = bytes.indexOf(pipelineMark); at !== -1; at = bytes.indexOf(pipelineMark, at + 1)) places.push(at)
  return {
    bytes: bytes.length,
    body: n => {
      const copy = Buffer.from(bytes)
      const digits = String(n).padStart(pipelineMark.length, '0')
      for (const place of places) copy.write(digits, place, 'latin1')
      return copy
    },
  }
}

function pipeline(jobs: number, status: 'success' | 'running'): object {
  const done = status === 'success'
  return {
    object_kind: 'pipeline',
    object_attributes: {
      id: `@${pipelineMark}@`,
      iid: 42,
      name: 'Main',
      ref: 'main',
      tag: false,
      sha: 'a'.repeat(40),
      before_sha: 'b'.repeat(40),
      source: 'push',
      status,
      detailed_status: done ? 'passed' : 'running',
      stages: ['build', 'test', 'deploy'],
      created_at: wire(0),
      finished_at: done ? wire(600) : null,
      duration: done ? 590 : null,
      queued_duration: 10,
      protected_ref: true,
      variables: [],
      url: `https://git.example.com/acme/shop/checkout/-/pipelines/1`,
    },
    merge_request: null,
    user: user(),
    project: project(),
    commit: {
      id: 'a'.repeat(40),
      message: 'Take the discount into account\n\nThe total was computed before the discount was known.\n',
      title: 'Take the discount into account',
      timestamp: '2026-11-20T07:59:21+00:00',
      url: `https://git.example.com/acme/shop/checkout/-/commit/${'a'.repeat(40)}`,
      author: { name: 'Ada Example', email: 'ada@example.com' },
    },
    builds: Array.from({ length: jobs }, (_, job) =>
      buildOf(job, jobs, done || job < jobs / 2 ? 'success' : 'created'),
    ),
  }
}

function buildOf(job: number, jobs: number, status: string) {
  const began = 10 + Math.floor((job * 500) / jobs)
  const done = status === 'success'
  return {
    id: `@${pipelineMark}${String(job).padStart(4, '0')}@`,
    stage: ['build', 'test', 'deploy'][Math.floor((job * 3) / jobs)],
    name: `job number ${job} of the pipeline`,
    status,
    created_at: wire(0),
    started_at: done ? wire(began) : null,
    finished_at: done ? wire(began + 60) : null,
    duration: done ? 60.123456 : null,
    queued_duration: done ? 1.654321 : null,
    failure_reason: null,
    when: 'on_success',
    manual: false,
    allow_failure: false,
    user: user(),
    runner: done
      ? {
          id: 380_987,
          description: 'shared-runners-manager-6.git.example.com',
          runner_type: 'instance_type',
          active: true,
          is_shared: true,
          tags: ['linux', 'docker', 'shared-runner', 'x86-64', 'large'],
        }
      : null,
    artifacts_file: { filename: 'artifacts.zip', size: 2520 },
    environment: job % 10 === 9 ? { name: 'production', action: 'start', deployment_tier: 'production' } : null,
  }
}

function user() {
  return {
    id: 1,
    name: 'Ada Example',
    username: 'ada',
    avatar_url: `https://git.example.com/uploads/-/system/user/avatar/1/avatar.png?width=96&cache=${'0123456789abcdef'.repeat(16)}`,
    email: 'ada@example.com',
  }
}

function project() {
  return {
    id: 4711,
    name: 'checkout',
    description: 'Everything between the basket and the receipt.',
    web_url: 'https://git.example.com/acme/shop/checkout',
    avatar_url: null,
    git_ssh_url: 'git@git.example.com:acme/shop/checkout.git',
    git_http_url: 'https://git.example.com/acme/shop/checkout.git',
    namespace: 'shop',
    visibility_level: 20,
    path_with_namespace: 'acme/shop/checkout',
    default_branch: 'main',
    ci_config_path: null,
  }
}

function wire(seconds: number): string {
  return new Date(start + seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC')
}
