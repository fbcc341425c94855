// Defines which projects are polled: the configured projects and groups, or else all projects that the token can read, but only those in the token's
// territory.
import { isWithin, type Territory } from '../../model/territory.ts'
import type { Pages, PlatformClient } from '../../platform/port.ts'

export interface PollSettings {
  readonly projects?: readonly string[] | undefined
  readonly groups?: readonly string[] | undefined
  readonly mine: boolean
  readonly crossProject: boolean
}

export interface PollScope {
  /** The ids or full paths of the configured projects. */
  readonly projects: readonly string[]
  readonly groups: readonly string[]
  /** Whether the pipelines that the token's user started are polled, in all projects. */
  readonly ownPipelines: boolean
  /** Whether the projects of which the token's user is a member are polled. */
  readonly memberProjects: boolean
  /** A description of the polled projects; undefined if no projects are polled. */
  readonly description: string | undefined
}

/** The share of the API budget that polling may use. The rest is for enrichment and commands. */
export const pollShare = 0.6

export function pollScopeOf({ projects = [], groups = [], mine, crossProject }: PollSettings): PollScope {
  const memberProjects = crossProject && !mine && projects.length + groups.length === 0
  const ownPipelines = mine || memberProjects
  const parts = [
    ...(projects.length > 0 ? [counted(projects.length, 'project')] : []),
    ...(groups.length > 0 ? [counted(groups.length, 'group')] : []),
    ...(ownPipelines ? ["the pipelines that the token's user started, in all projects"] : []),
    ...(memberProjects ? ['the projects that it is a member of'] : []),
  ]
  const description = parts.length === 0 ? undefined : parts.join(', and ')
  return { projects, groups, ownPipelines, memberProjects, description }
}

/** Returns the log message that names the polled projects. */
export function pollMessage({ description, memberProjects }: PollScope, perMinute: number): string {
  if (description === undefined) {
    return 'nothing is polled: name projects (PIPESPAN_POLL_PROJECTS) or groups (PIPESPAN_POLL_GROUPS), or set PIPESPAN_POLL_CROSS_PROJECT'
  }
  const limit = `with at most ${Math.floor(perMinute * pollShare)} requests a minute`
  const settings = memberProjects
    ? ' (PIPESPAN_POLL_PROJECTS and PIPESPAN_POLL_GROUPS name less; PIPESPAN_POLL_CROSS_PROJECT=false turns it off)'
    : ''
  return `polls ${description}, ${limit}${settings}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/**
 * Creates a client that lists only the projects in the territory of its token. If several tokens are configured for one platform, each project is
 * then polled with one of them. The client filters the lists of projects, of incidents, and of the pipelines of the token's user.
 */
export function clientWithin(client: PlatformClient, territory: Territory): PlatformClient {
  if (territory.parts.every(({ group, except }) => group === '' && except.length === 0)) return client
  const isOwn = (path: string | undefined): boolean => isWithin(territory, client.instance, path)
  return {
    ...client,
    projects: (of, query, options) => filtered(client.projects(of, query, options), ({ path }) => isOwn(path)),
    ownPipelines: (query, options) =>
      filtered(client.ownPipelines(query, options), ({ project }) => isOwn(project.path)),
    incidents: (query, options) => filtered(client.incidents(query, options), ({ project }) => isOwn(project.path)),
  }
}

async function* filtered<T>(pages: Pages<T>, isKept: (item: T) => boolean): Pages<T> {
  for await (const page of pages) yield { ...page, items: page.items.filter(isKept) }
}
