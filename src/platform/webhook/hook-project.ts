// Determines the project and the instance of a delivery from its fields.
import { fieldsOf, readText, readUrl } from '../wire-read.ts'
import { instanceOfPayload, instanceOfProject } from '../../model/instance.ts'
import { PayloadError } from '../../lib/fault.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import type { WantedFacts } from '../wanted-facts.ts'

/** The facts that are known about a delivery in addition to its body. */
export interface HookContext {
  /** The value of the delivery's instance header. */
  readonly instance?: string | undefined
  /** The name of the instance header, for messages. */
  readonly instanceHeader: string
  /** The configured base URL of the platform. */
  readonly platformUrl?: string | undefined
  /** The platform whose webhook secret the sender used, if several platforms are configured. */
  readonly platform?: KnownPlatform | undefined
  /** Whether Pipespan uses the pipeline's traceparent variable. */
  readonly traceparent: boolean
  /** The facts that are read for the operator's attribute rules. By default none are read. */
  readonly wanted?: WantedFacts | undefined
}

export interface KnownPlatform {
  readonly name: string
  /** The normalised base URL of the platform. */
  readonly instance: string
}

export const projectFacts = fieldsOf<ProjectFacts>({
  name: ['name', readText],
  path: ['path_with_namespace', readText],
  webUrl: ['web_url', readUrl],
  defaultBranch: ['default_branch', readText],
})

/** Returns the instance of a delivery. Throws a PayloadError if it cannot be determined. */
export function instanceOf(context: HookContext, project: Partial<ProjectFacts>): string {
  const { instance: header, instanceHeader, platformUrl, platform } = context
  if (platform !== undefined) return instanceOfPlatform(platform, project)
  const instance = instanceOfPayload({ header, configured: platformUrl, webUrl: project.webUrl, path: project.path })
  if (instance !== undefined) return instance
  throw new PayloadError(
    `The delivery does not name its instance: it has no usable ${instanceHeader} header and no web URL of its project.`,
    'Set PIPESPAN_PLATFORM_URL.',
  )
}

/**
 * Returns the instance of the platform whose webhook secret the sender used. Throws if the project is on another platform, because the sender must
 * not report that platform's pipelines.
 */
function instanceOfPlatform({ name, instance }: KnownPlatform, { webUrl, path }: Partial<ProjectFacts>): string {
  const found = instanceOfPayload({ header: instance, configured: undefined, webUrl, path })
  if (found === undefined || found === instance) return instance
  throw new PayloadError(
    `The delivery has the webhook secret of the platform ${name} (${instance}), but its project is on ${instanceOfProject(webUrl)}.`,
    "Give each platform its own secret, and set the platform's url to the URL in its webhooks.",
  )
}

export function projectOf(id: number, project: Partial<ProjectFacts>, instance: string): ProjectFacts {
  const path = project.path ?? pathOf(project.webUrl, instance)
  return { id, ...project, ...(path !== undefined && { path }) }
}

/** Derives a project's full path from its URL. */
export function pathOf(webUrl: string | undefined, instance: string): string | undefined {
  if (webUrl?.startsWith(`${instance}/`) !== true) return undefined
  const path = webUrl.slice(instance.length + 1).replace(/\/+$/, '')
  return path.includes('/') ? path : undefined
}

/**
 * Returns the project's name from a job event. The event contains the display names of owner and project, `Owner / project`, which are not the path.
 */
export function lastName(projectName: string | undefined): string | undefined {
  return projectName?.split('/').at(-1)?.trim()
}
