// What pipeline and job events look like on the wire, read tolerantly: unknown fields and statuses pass, an optional field of
// a wrong type is dropped, and only what nothing can be known without is required. Pipeline variables are not read here.
import { z } from 'zod'
import { PayloadError } from '../lib/fault.ts'
import {
  maybe,
  wireCount,
  wireFlag,
  wireId,
  wireMessage,
  wireSeconds,
  wireStatus,
  wireText,
  wireTexts,
  wireTime,
  wireUrl,
} from './wire-field.ts'

const hookUser = z.object({ id: maybe(wireId), username: maybe(wireText) })

const hookRunner = z.object({
  id: wireId,
  description: maybe(wireText),
  runner_type: maybe(wireText),
  active: maybe(wireFlag),
  is_shared: maybe(wireFlag),
  tags: maybe(wireTexts),
})

/** An object; some senders give the name alone. */
const hookEnvironment = z.union([
  z.object({ name: wireText, action: maybe(wireText), deployment_tier: maybe(wireText) }),
  wireText.transform(name => ({ name, action: undefined, deployment_tier: undefined })),
])

const hookProject = z.object({
  id: maybe(wireId),
  name: maybe(wireText),
  web_url: maybe(wireUrl),
  path_with_namespace: maybe(wireText),
  default_branch: maybe(wireText),
})

const hookJob = z.object({
  id: wireId,
  status: wireStatus,
  name: maybe(wireText),
  stage: maybe(wireText),
  created_at: maybe(wireTime),
  started_at: maybe(wireTime),
  finished_at: maybe(wireTime),
  duration: maybe(wireSeconds),
  queued_duration: maybe(wireSeconds),
  failure_reason: maybe(wireText),
  when: maybe(wireText),
  manual: maybe(wireFlag),
  allow_failure: maybe(wireFlag),
  user: maybe(hookUser),
  runner: maybe(hookRunner),
  artifacts_file: maybe(z.object({ filename: wireText, size: maybe(wireCount) })),
  environment: maybe(hookEnvironment),
  bridge: maybe(wireFlag),
  downstream_pipeline: maybe(z.object({ id: wireId, project_id: maybe(wireId) })),
})

const list = maybe(z.array(z.unknown()))

const pipelineHook = z.object({
  object_attributes: z.object({
    id: wireId,
    status: wireStatus,
    iid: maybe(wireId),
    name: maybe(wireText),
    ref: maybe(wireText),
    sha: maybe(wireText),
    before_sha: maybe(wireText),
    tag: maybe(wireFlag),
    source: maybe(wireText),
    detailed_status: maybe(wireText),
    stages: maybe(wireTexts),
    created_at: maybe(wireTime),
    finished_at: maybe(wireTime),
    duration: maybe(wireSeconds),
    queued_duration: maybe(wireSeconds),
    protected_ref: maybe(wireFlag),
    url: maybe(wireUrl),
    root_pipeline_id: maybe(wireId),
  }),
  project: hookProject.extend({ id: wireId }),
  user: maybe(hookUser),
  commit: maybe(z.object({ id: maybe(wireText), message: maybe(wireMessage) })),
  merge_request: maybe(
    z.object({
      id: maybe(wireId),
      iid: wireId,
      title: maybe(wireText),
      state: maybe(wireText),
      target_branch: maybe(wireText),
    }),
  ),
  source_pipeline: maybe(
    z.object({
      pipeline_id: wireId,
      project: maybe(z.object({ id: maybe(wireId) })),
      job_id: maybe(wireId),
      bridge_id: maybe(wireId),
    }),
  ),
  builds: list,
  /** The name of `builds` on very old platforms. */
  jobs: list,
  /** The newest platforms only. */
  bridges: list,
})

/** `commit.id` is left out: in a job event it is the pipeline's id. */
const jobHook = z.object({
  build_id: wireId,
  build_status: wireStatus,
  pipeline_id: wireId,
  project_id: maybe(wireId),
  project_name: maybe(wireText),
  build_name: maybe(wireText),
  build_stage: maybe(wireText),
  build_created_at: maybe(wireTime),
  build_started_at: maybe(wireTime),
  build_finished_at: maybe(wireTime),
  build_created_at_iso: maybe(wireTime),
  build_started_at_iso: maybe(wireTime),
  build_finished_at_iso: maybe(wireTime),
  build_duration: maybe(wireSeconds),
  build_queued_duration: maybe(wireSeconds),
  build_allow_failure: maybe(wireFlag),
  build_failure_reason: maybe(wireText),
  user: maybe(hookUser),
  runner: maybe(hookRunner),
  environment: maybe(hookEnvironment),
  /** Newer platforms only. */
  project: maybe(hookProject),
  repository: maybe(z.object({ name: maybe(wireText), homepage: maybe(wireUrl) })),
})

export type HookJob = z.infer<typeof hookJob>
export type HookProject = z.infer<typeof hookProject>
export type HookUser = z.infer<typeof hookUser>
export type HookRunner = z.infer<typeof hookRunner>
export type HookEnvironment = z.infer<typeof hookEnvironment>
export type JobHook = z.infer<typeof jobHook>
export type PipelineHook = Omit<z.infer<typeof pipelineHook>, 'builds' | 'jobs' | 'bridges'> & {
  readonly jobs: readonly HookJob[]
  /** Undefined where the platform does not list them. */
  readonly bridges: readonly HookJob[] | undefined
  /** Jobs and bridges without a usable id or status. */
  readonly dropped: number
}

/** Reads a pipeline event. Throws PayloadError, which names the fields that it cannot do without. */
export function readPipelineHook(body: unknown): PipelineHook {
  const { builds, jobs, bridges, ...hook } = read(pipelineHook, body, 'pipeline')
  const heard = jobsIn(builds ?? jobs ?? [])
  const heardBridges = bridges === undefined ? undefined : jobsIn(bridges)
  const dropped = heard.dropped + (heardBridges?.dropped ?? 0)
  return { ...hook, jobs: heard.jobs, bridges: heardBridges?.jobs, dropped }
}

/** Reads a job event. Throws PayloadError, as above. */
export function readJobHook(body: unknown): JobHook & { readonly project_id: number } {
  const hook = read(jobHook, body, 'job')
  const projectId = hook.project_id ?? hook.project?.id
  if (projectId === undefined) throw unusable('job', ['project_id'])
  return { ...hook, project_id: projectId }
}

function read<T extends z.ZodType>(schema: T, body: unknown, event: string): z.output<T> {
  const { data, error } = schema.safeParse(body)
  if (error === undefined) return data
  throw unusable(event, [...new Set(error.issues.map(issue => issue.path.join('.')))])
}

/** Names fields, never their values. */
function unusable(event: string, fields: readonly string[]): PayloadError {
  const isObject = !fields.includes('')
  return new PayloadError(
    isObject ? `The ${event} event has no usable ${fields.join(', ')}.` : `The ${event} event is not a JSON object.`,
    'If its webhook has a custom template, remove it: only the payload as the platform makes it is understood.',
  )
}

function jobsIn(items: readonly unknown[]): { jobs: HookJob[]; dropped: number } {
  const jobs = items.map(item => hookJob.safeParse(item).data).filter(job => job !== undefined)
  return { jobs, dropped: items.length - jobs.length }
}
