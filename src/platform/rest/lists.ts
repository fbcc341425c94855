// The schemas of the lists that discovery and enrichment read. They bring the items into normal form.
import { z } from 'zod'
import { knownOf } from '../../model/versioned.ts'
import { maybe, wireFlag, wireId, wireSeconds, wireText, wireTime, wireTitle, wireUrl } from './wire-field.ts'
import { readVariablesAlone } from '../wanted-facts.ts'
import { observedPipelineOf, projectOfPipeline } from './normalize.ts'
import { restPipeline } from './schemas.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import { reportedIncident, type Incident } from '../../model/incident.ts'
import type { Commit, HookDelivery, ListedPipeline, PlatformProject } from '../port.ts'

const text = maybe(wireText)
const time = maybe(wireTime)
const flag = maybe(wireFlag)

const projectFields = {
  id: wireId,
  name: text,
  path_with_namespace: text,
  web_url: maybe(wireUrl),
  default_branch: text,
}

function projectFacts(project: z.infer<z.ZodObject<typeof projectFields>>): ProjectFacts {
  return knownOf({
    id: project.id,
    name: project.name,
    path: project.path_with_namespace,
    webUrl: project.web_url,
    defaultBranch: project.default_branch,
  })
}

/** As a list of pipelines shows one. Only the request may know its project: platforms before 13.6 do not name it. */
export interface ListedItem extends Omit<ListedPipeline, 'project'> {
  readonly project: Partial<ProjectFacts>
}

export const restListItem = (instance: string) =>
  restPipeline
    .extend({
      project_id: maybe(wireId),
      merge_request: maybe(z.object({ iid: wireId, title: maybe(wireTitle), web_url: maybe(wireUrl) })),
      project: maybe(z.object(projectFields)),
    })
    .transform((item): ListedItem => {
      const { facts, times } = observedPipelineOf(item)
      const request = item.merge_request
      const project = projectOfPipeline(item, instance)
      return knownOf({
        ...{ id: item.id, status: item.status, createdAt: item.created_at, updatedAt: item.updated_at },
        ...{ facts: knownOf(facts), finishedAt: times.finishedAt },
        mergeRequest: request && knownOf({ iid: request.iid, title: request.title, url: request.web_url }),
        project: { ...project, ...(item.project && projectFacts(item.project)) },
      })
    })

/** An item of the list of all projects, which must name its project. */
export const restListItemOfAll = (instance: string) =>
  restListItem(instance).transform((item, context): ListedPipeline => {
    const { project } = item
    if (project.id !== undefined) return { ...item, project: { ...project, id: project.id } }
    context.addIssue({ code: 'custom', message: 'no such value', path: ['project_id'] })
    return z.NEVER
  })

export const restProject = z
  .object({ ...projectFields, last_activity_at: time, archived: flag })
  .transform((project): PlatformProject => ({
    ...projectFacts(project),
    ...knownOf({ lastActivityAt: project.last_activity_at }),
    archived: project.archived ?? false,
  }))

/** Only owners of a group get its `runners_token`. It is a secret, so only its presence is read. */
export const restGroup = z
  .object({ runners_token: z.unknown().optional() })
  .transform(group => typeof group.runners_token === 'string')

/** The platform shows `is_admin` only to administrators. */
export const restUser = z.object({ is_admin: flag })

const oversize = z.object({ oversize: z.literal(true) })

/** `names`: of the variables that are allowed in the body. */
export const restDelivery = (names?: ReadonlySet<string>) =>
  z
    .object({
      id: wireId,
      request_headers: z.record(z.string(), z.unknown()).catch({}),
      request_data: z.unknown(),
      response_status: maybe(z.union([wireText, z.number().transform(String)])),
      execution_duration: maybe(wireSeconds),
    })
    .transform((delivery): HookDelivery => {
      const isOversize = oversize.safeParse(delivery.request_data).success
      const headers = Object.entries(delivery.request_headers).flatMap(([name, value]) =>
        typeof value === 'string' ? [[name.toLowerCase(), value] as const] : [],
      )
      const data = isOversize ? undefined : delivery.request_data
      return {
        id: delivery.id,
        headers: Object.fromEntries(headers),
        isOversize,
        ...knownOf({
          body: data === undefined ? undefined : () => Buffer.from(JSON.stringify(data, readVariablesAlone(names))),
          responseStatus: delivery.response_status,
          duration: delivery.execution_duration,
        }),
      }
    })

/** Incidents, which the platform lists among its issues. Titles and texts are never read. An issue in an unknown state is invalid. */
export const restIncident = (instance: string) =>
  z
    .object({
      iid: wireId,
      project_id: wireId,
      state: wireText,
      updated_at: wireTime,
      created_at: time,
      closed_at: time,
      severity: text,
      references: maybe(z.object({ full: text })),
    })
    .transform((issue, context): Incident => {
      const { iid, state, updated_at: at, created_at: openedAt, closed_at: closedAt, severity } = issue
      // The full reference of an issue begins with the path of its project.
      const path = issue.references?.full?.replace(/#\d+$/, '')
      const project = {
        id: issue.project_id,
        ...(path !== undefined && { path, name: path.split('/').at(-1) ?? path }),
      }
      const incident = reportedIncident({ instance, project, iid, state, at, openedAt, closedAt, severity })
      if (incident !== undefined) return incident
      context.addIssue({ code: 'custom', message: 'unknown state', path: ['state'] })
      return z.NEVER
    })

/** Of commits only the times are read, never IDs, messages or authors. */
export const restCommit = z
  .object({ authored_date: time, committed_date: time })
  .transform(({ authored_date: authoredAt, committed_date: committedAt }): Commit =>
    knownOf({ authoredAt, committedAt }),
  )
