// Where a project, a pipeline and a job are found in a browser, where the platform itself did not say.
import type { FrozenJob, FrozenPart } from '../model/frozen.ts'

type Placed = Pick<FrozenPart, 'key' | 'project'>

/** The project's web URL, else built from its path; undefined when neither is known. */
export function projectUrl({ key, project }: Placed): string | undefined {
  if (project.webUrl !== undefined) return project.webUrl.replace(/\/+$/, '')
  return project.path === undefined ? undefined : `${key.instance}/${project.path}`
}

export function pipelineUrl(part: Placed & Pick<FrozenPart, 'pipeline'>): string | undefined {
  return part.pipeline.facts.url ?? below(part, `pipelines/${part.key.pipelineId}`)
}

export function jobUrl(part: Placed, job: Pick<FrozenJob, 'id' | 'url'>): string | undefined {
  return job.url ?? below(part, `jobs/${job.id}`)
}

function below(part: Placed, path: string): string | undefined {
  const project = projectUrl(part)
  return project === undefined ? undefined : `${project}/-/${path}`
}
