// The project and the instance of a delivery, as its fields name them.
import { fieldsOf, readText, readUrl } from '../wire-read.ts'
import { instanceOfPayload, instanceOfProject } from '../../model/instance.ts'
import { PayloadError } from '../../lib/fault.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { WantedFacts } from '../wanted-facts.ts'

/** What is known about a delivery besides its body. */
export interface HookContext {
  /** The delivery's instance header. */
  readonly instance?: string | undefined
  /** The name of that header, for messages. */
  readonly instanceHeader: string
  /** The configured base URL of the platform. */
  readonly platformUrl?: string | undefined
  /** If there are several platforms: the one whose secret the sender knew. */
  readonly platform?: KnownPlatform | undefined
  /** Whether the pipeline's traceparent variable is to be used. */
  readonly traceparent: boolean
  /** The facts that are read for the operator's attributes; undefined: none. */
  readonly wanted?: WantedFacts | undefined
}

export interface KnownPlatform {
  readonly name: string
  /** Its normalised base URL. */
  readonly instance: string
}

export const projectFacts = fieldsOf<ProjectFacts>({
  name: ['name', readText],
  path: ['path_with_namespace', readText],
  webUrl: ['web_url', readUrl],
  defaultBranch: ['default_branch', readText],
})

/** Throws a PayloadError if the instance is not known. */
export function instanceOf(context: HookContext, project: Partial<ProjectFacts>): string {
  const { instance: header, instanceHeader, platformUrl, platform } = context
  if (platform !== undefined) return instanceOfPlatform(platform, project)
  const instance = instanceOfPayload({ header, configured: platformUrl, webUrl: project.webUrl, path: project.path })
  if (instance !== undefined) return instance
  throw new PayloadError(
    `The delivery does not name its instance: no usable ${instanceHeader} header, no web URL of its project.`,
    'Set PIPESPAN_PLATFORM_URL.',
  )
}

/** A sender who knows the secret of one platform must not report pipelines of another. */
function instanceOfPlatform({ name, instance }: KnownPlatform, { webUrl, path }: Partial<ProjectFacts>): string {
  const found = instanceOfPayload({ header: instance, configured: undefined, webUrl, path })
  if (found === undefined || found === instance) return instance
  throw new PayloadError(
    `The delivery has the webhook secret of the platform ${name} (${instance}), but its project is on ${instanceOfProject(webUrl)}.`,
    "Give each platform a secret of its own, and set the platform's url as it is in its webhooks.",
  )
}

export function projectOf(id: number, project: Partial<ProjectFacts>, instance: string): ProjectFacts {
  const path = project.path ?? pathOf(project.webUrl, instance)
  return { id, ...project, ...(path !== undefined && { path }) }
}

/** A project's full path, from its URL. */
export function pathOf(webUrl: string | undefined, instance: string): string | undefined {
  if (webUrl?.startsWith(`${instance}/`) !== true) return undefined
  const path = webUrl.slice(instance.length + 1).replace(/\/+$/, '')
  return path.includes('/') ? path : undefined
}

/** The project's name from a job event. It has the display names of owner and project, `Owner / project`, which are not the path. */
export function lastName(projectName: string | undefined): string | undefined {
  return projectName?.split('/').at(-1)?.trim()
}
