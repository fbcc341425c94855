// Requests projects and groups along with their access rights, commits and incidents, but not their pipelines. Each response schema is next to its
// call, and normalises the response.
import { z } from 'zod'
import { knownOf } from '../../model/versioned.ts'
import { maybe, wireFlag, wireId, wireText, wireTime, wireUrl } from './wire-field.ts'
import { iso, segmentOf, type Api } from './api.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import { PlatformError, type Commit, type ListedIncident, type PlatformClient, type PlatformProject } from '../port.ts'
import type { Asking } from '../port/asking.ts'
import type { NamedOwner } from '../port/asking.ts'
import type { Owner } from '../../model/inventory.ts'

const text = maybe(wireText)
const time = maybe(wireTime)
const flag = maybe(wireFlag)

export const projectFields = {
  id: wireId,
  name: text,
  path_with_namespace: text,
  web_url: maybe(wireUrl),
  default_branch: text,
}

export function projectFacts(project: z.infer<z.ZodObject<typeof projectFields>>): ProjectFacts {
  return knownOf({
    id: project.id,
    name: project.name,
    path: project.path_with_namespace,
    webUrl: project.web_url,
    defaultBranch: project.default_branch,
  })
}

export const restProject = z
  .object({ ...projectFields, last_activity_at: time, archived: flag })
  .transform((project): PlatformProject => ({
    ...projectFacts(project),
    ...knownOf({ lastActivityAt: project.last_activity_at }),
    archived: project.archived ?? false,
  }))

/** The platform returns a group's `runners_token` only to the group's owners. It is a secret, so the code only checks whether it is present. */
const restGroup = z
  .object({ runners_token: z.unknown().optional() })
  .transform(group => typeof group.runners_token === 'string')

/** The platform shows `is_admin` only to administrators. */
const restUser = z.object({ is_admin: flag })

/**
 * The schema of an incident. The platform lists incidents among its issues. Titles and descriptions are never read. An issue in an unknown state is
 * invalid.
 */
const restIncident = (instance: string) =>
  z
    .object({
      iid: wireId,
      project_id: wireId,
      state: z.enum(['opened', 'closed']),
      updated_at: wireTime,
      created_at: time,
      closed_at: time,
      severity: text,
      references: maybe(z.object({ full: text })),
    })
    .transform((issue): ListedIncident => {
      const { iid, state, updated_at: at, created_at: openedAt, closed_at: closedAt, severity } = issue
      // The full reference of an issue begins with its project's path.
      const path = issue.references?.full?.replace(/#\d+$/, '')
      const project = {
        id: issue.project_id,
        ...(path !== undefined && { path, name: path.split('/').at(-1) ?? path }),
      }
      return { instance, project, iid, state, at, openedAt, closedAt, severity }
    })

/** The schema of a commit. Only commit times are read, never IDs, messages or authors. */
const restCommit = z
  .object({ authored_date: time, committed_date: time })
  .transform(({ authored_date: authoredAt, committed_date: committedAt }): Commit =>
    knownOf({ authoredAt, committedAt }),
  )

/** The platform's number for the Maintainer role, the lowest role that may edit a project's webhooks. */
const maintainer = 40

export type ProjectCalls = Pick<
  PlatformClient,
  'project' | 'projects' | 'isAdministrator' | 'ownsGroup' | 'commits' | 'incidents'
>

export function projectCalls(api: Api, instance: string): ProjectCalls {
  const incident = restIncident(instance)
  return {
    project: (project, call) => api.one(`/projects/${segmentOf(project)}`, restProject, call),
    projects: (of, { activeAfter }, call) => {
      const active = { order_by: 'last_activity_at', sort: 'desc', last_activity_after: iso(activeAfter) }
      if (typeof of === 'object') {
        const path = `/groups/${segmentOf(of.group)}/projects`
        return api.pages(path, restProject, call, { include_subgroups: true, ...active })
      }
      const byId = { pagination: 'keyset', order_by: 'id', sort: 'asc' }
      return api.pages('/projects', restProject, call, {
        archived: false,
        min_access_level: of === 'maintained' ? maintainer : undefined,
        ...(of === 'member' ? { membership: true, ...active } : byId),
      })
    },
    isAdministrator: async call => (await api.one('/user', restUser, call)).is_admin === true,
    ownsGroup: (group, call) => api.one(`/groups/${segmentOf(group)}`, restGroup, call, { with_projects: false }),
    commits: (project, { from, to, firstParent }, call) => {
      const query = { ref_name: `${from}..${to}`, first_parent: firstParent === true ? true : undefined }
      return api.pages(`/projects/${segmentOf(project)}/repository/commits`, restCommit, call, query, [
        'committed_date',
      ])
    },
    incidents: ({ updatedAfter }, call) => {
      const updated = { updated_after: iso(updatedAfter), order_by: 'updated_at', sort: 'asc' }
      return api.pages('/issues', incident, call, { scope: 'all', issue_type: 'incident', ...updated })
    },
  }
}

const restGroupPath = z.object({ full_path: maybe(wireText) })

/** Requests the project or group that the configuration identifies by its ID or path. */
export async function ownerOf({ as, named }: NamedOwner, ask: Pick<Asking, 'one'>): Promise<Owner> {
  const id = segmentOfNamed(named)
  if (as !== 'groups') {
    try {
      const { archived: _, lastActivityAt: __, ...project } = await ask.one(`/projects/${id}`, restProject)
      return { project }
    } catch (error) {
      const isNotFound = error instanceof PlatformError && error.kind === 'not-found'
      if (as === 'projects' || !isNotFound) throw error
    }
  }
  const { full_path: path = named } = await ask.one(`/groups/${id}`, restGroupPath, { with_projects: false })
  return { group: { path } }
}

/** Returns the path segment for an ID or path from the configuration. */
export function segmentOfNamed(named: string): string {
  return segmentOf(/^\d+$/.test(named) ? Number(named) : named)
}
