// The lists of projects that are polled: those of a group, or those that the token's user is a member of.
import type { Millis } from '../../model/instant.ts'
import type { ListOptions, Pages, PlatformClient, PlatformProject } from '../../platform/port.ts'

export interface ProjectList {
  /** For people. */
  readonly name: string
  /** The key of its sweep in the store: the group as configured, or what no group is called. */
  readonly key: string
  readonly pages: (query: { readonly activeAfter?: Millis | undefined }, options: ListOptions) => Pages<PlatformProject>
  /** Whether a project that a webhook or another project's pipeline named is to be polled as one of the list. */
  readonly has: (project: PlatformProject) => boolean
}

const memberProjects = "the token's projects"

/** `members`: also the projects that the token's user is a member of. A webhook or a pipeline may then name any project that the token can read. */
export function projectListsOf(client: PlatformClient, groups: readonly string[], members: boolean): ProjectList[] {
  const ofGroups = groups.map((group): ProjectList => ({
    name: `group ${group}`,
    key: group,
    pages: (query, call) => client.projects({ group }, query, call),
    has: ({ path }) => path?.toLowerCase().startsWith(`${group}/`.toLowerCase()) === true,
  }))
  const pages: ProjectList['pages'] = (query, call) => client.projects('member', query, call)
  return members ? [...ofGroups, { name: memberProjects, key: memberProjects, pages, has: () => true }] : ofGroups
}
