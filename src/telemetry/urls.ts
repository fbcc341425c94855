// Where a project, a pipeline and its jobs are found in a browser, where the platform itself did not say.
import type { Chunk } from '../model/chunk.ts'

type Placed = Pick<Chunk, 'key' | 'project'>

/** The project's web URL, else built from its path; undefined when neither is known. */
export function projectUrl({ key, project }: Placed): string | undefined {
  const { webUrl } = project
  if (webUrl !== undefined) return webUrl.endsWith('/') ? webUrl.replace(/\/+$/, '') : webUrl
  return project.path === undefined ? undefined : `${key.instance}/${project.path}`
}

export function pipelineUrl(part: Placed & Pick<Chunk, 'pipeline'>): string | undefined {
  return part.pipeline.facts.url ?? below(part, `pipelines/${part.key.pipelineId}`)
}

/** Below which a project's jobs are, by id; undefined when the project's own is not known. */
export function jobsUrl(part: Placed): string | undefined {
  return below(part, 'jobs/')
}

function below(part: Placed, path: string): string | undefined {
  const project = projectUrl(part)
  return project === undefined ? undefined : `${project}/-/${path}`
}
