// The URLs of a project, a pipeline and its jobs, built if the platform did not report them.
import type { Chunk } from '../../../model/chunk.ts'
import type { ProjectFacts, Runner } from '../../../model/observation.ts'

export interface Placed {
  readonly key: { readonly instance: string }
  readonly project?: ProjectFacts | undefined
}

/** The project's web URL, or else built from its path; undefined if neither is known. */
export function projectUrl({ key, project }: Placed): string | undefined {
  const webUrl = project?.webUrl
  if (webUrl !== undefined) return webUrl.endsWith('/') ? webUrl.replace(/\/+$/, '') : webUrl
  return project?.path === undefined ? undefined : `${key.instance}/${project.path}`
}

export function pipelineUrl(chunk: Pick<Chunk, 'key' | 'project' | 'pipeline'>): string | undefined {
  return chunk.pipeline.facts.url ?? below(chunk, `pipelines/${chunk.key.pipelineId}`)
}

/** The URL of a job without its id. */
export function jobsUrl(chunk: Placed): string | undefined {
  return below(chunk, 'jobs/')
}

/** The page of a runner of the project or the instance; undefined for others. */
export function runnerUrl(chunk: Placed, { id, type }: Pick<Runner, 'id' | 'type'>): string | undefined {
  if (type === 'instance_type') return `${chunk.key.instance}/admin/runners/${id}`
  return type === 'project_type' ? below(chunk, `runners/${id}`) : undefined
}

function below(chunk: Placed, path: string): string | undefined {
  const project = projectUrl(chunk)
  return project === undefined ? undefined : `${project}/-/${path}`
}
