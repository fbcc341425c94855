// From the wire's words to the model's: pipeline and job events become observations. snake_case ends here.
import { instanceOfProject, normalizeInstance } from '../model/instance.ts'
import { PayloadError } from '../lib/fault.ts'
import { anyKnown, known } from './known.ts'
import { normalizeHookJob, normalizeJobEvent, personOf } from './normalize-hook-job.ts'
import type { HookProject, JobHook, PipelineHook } from './hook-payload.ts'
import type { MergeRequest, Observation, ProjectFacts, SourcePipeline } from '../model/observation.ts'

/** What is known of a delivery besides its body. */
export interface HookContext {
  /** The delivery's instance header. */
  readonly instance?: string | undefined
  /** That header's name, for messages. */
  readonly instanceHeader: string
  /** The configured base URL of the platform. */
  readonly platformUrl?: string | undefined
  /** The pipeline's traceparent variable, where it is honoured. */
  readonly traceparent?: string | undefined
}

/** What a pipeline event tells. Throws PayloadError when its instance is not known. */
export function normalizePipelineHook(hook: PipelineHook, context: HookContext): Observation {
  const { object_attributes: pipeline, commit, project } = hook
  const instance = instanceOf(context, project.web_url)
  return {
    key: { instance, pipelineId: pipeline.id },
    witness: 'webhook',
    project: projectOf(project.id, project, instance),
    pipeline: {
      facts: known({
        status: pipeline.status,
        iid: pipeline.iid,
        name: pipeline.name,
        ref: pipeline.ref,
        sha: pipeline.sha,
        beforeSha: pipeline.before_sha,
        tag: pipeline.tag,
        source: pipeline.source,
        detailedStatus: pipeline.detailed_status,
        stages: pipeline.stages,
        duration: pipeline.duration,
        queuedDuration: pipeline.queued_duration,
        protectedRef: pipeline.protected_ref,
        url: pipeline.url,
        user: personOf(hook.user),
        commit: commit && anyKnown({ id: commit.id, message: commit.message }),
        mergeRequest: mergeRequestOf(hook.merge_request),
        sourcePipeline: sourcePipelineOf(hook),
        rootPipelineId: pipeline.root_pipeline_id,
        bridgesAreTold: hook.bridges === undefined ? undefined : true,
        traceparent: context.traceparent,
      }),
      times: known({ createdAt: pipeline.created_at, finishedAt: pipeline.finished_at }),
    },
    jobs: [
      ...hook.jobs.map(job => normalizeHookJob(job, job.bridge === true ? 'bridge' : 'job')),
      ...(hook.bridges ?? []).map(job => normalizeHookJob(job, 'bridge')),
    ],
  }
}

/** What a job event tells: of its job only. Throws PayloadError when its instance is not known. */
export function normalizeJobHook(hook: JobHook & { readonly project_id: number }, context: HookContext): Observation {
  const webUrl = hook.project?.web_url ?? hook.repository?.homepage
  const instance = instanceOf(context, webUrl)
  const name = hook.project?.name ?? hook.repository?.name ?? lastName(hook.project_name)
  return {
    key: { instance, pipelineId: hook.pipeline_id },
    witness: 'webhook',
    project: projectOf(hook.project_id, { ...hook.project, name, web_url: webUrl }, instance),
    jobs: [normalizeJobEvent(hook)],
  }
}

/** The delivery's own word, else the operator's, else the project's address. */
function instanceOf(context: HookContext, webUrl: string | undefined): string {
  const { instance: header, platformUrl } = context
  const instance =
    (header === undefined ? undefined : normalizeInstance(header)) ??
    (platformUrl === undefined ? undefined : normalizeInstance(platformUrl)) ??
    instanceOfProject(webUrl)
  if (instance !== undefined) return instance
  throw new PayloadError(
    `The delivery does not tell its instance: no usable ${context.instanceHeader} header, no web URL of its project.`,
    'Set PIPESPAN_PLATFORM_URL.',
  )
}

function projectOf(id: number, project: Partial<HookProject>, instance: string): ProjectFacts {
  const { name, web_url: webUrl } = project
  const path = project.path_with_namespace ?? pathOf(webUrl, instance)
  return known({ id, name, path, webUrl, defaultBranch: project.default_branch })
}

/** A project's full path, as its address shows it. */
function pathOf(webUrl: string | undefined, instance: string): string | undefined {
  if (webUrl?.startsWith(`${instance}/`) !== true) return undefined
  const path = webUrl.slice(instance.length + 1).replace(/\/+$/, '')
  return path.includes('/') ? path : undefined
}

/** Job events name a project `Owner / project`: in words, which is not its path. */
function lastName(projectName: string | undefined): string | undefined {
  return projectName?.split('/').at(-1)?.trim()
}

function mergeRequestOf(request: PipelineHook['merge_request']): MergeRequest | undefined {
  if (request === undefined) return undefined
  const { id, iid, title, state, target_branch: targetBranch } = request
  return known({ id, iid, title, state, targetBranch })
}

/**
 * A platform that names the bridge, or the root, or lists bridges, lists those of the parent too. The trigger of a child
 * pipeline is always a bridge; that of another project's may be a job that used its token.
 */
function sourcePipelineOf(hook: PipelineHook): SourcePipeline | undefined {
  const { source_pipeline: from, object_attributes: pipeline } = hook
  if (from === undefined) return undefined
  const isNew = hook.bridges !== undefined || pipeline.root_pipeline_id !== undefined
  const isBridge = from.bridge_id !== undefined || (isNew && pipeline.source === 'parent_pipeline')
  return known({
    pipelineId: from.pipeline_id,
    projectId: from.project?.id,
    jobId: from.bridge_id ?? from.job_id,
    bridgesAreTold: isBridge ? true : undefined,
  })
}
