// Requests pipelines, individually or as lists, their variables, and the labels of their merge requests.
//
// The schemas contain only the fields that are used, and they are tolerant: unknown fields and statuses are accepted, an optional field of the wrong
// type counts as absent, and a null boolean is false.
import { z } from 'zod'
import { anyKnown, knownOf } from '../../model/versioned.ts'
import { instanceOfProject } from '../../model/instance.ts'
import { iso, segmentOf, type Api } from './api.ts'
import {
  maybe,
  wireFlag,
  wireId,
  wireList,
  wireMessage,
  wirePercent,
  wireSeconds,
  wireStatus,
  wireText,
  wireTime,
  wireTitle,
  wireUrl,
} from './wire-field.ts'
import { mergeRequestOfRef } from '../../model/pipeline.ts'
import { projectFacts, projectFields } from './projects.ts'
import { readVariables, type WantedFacts } from '../wanted-facts.ts'
import type { CallOptions, ListedPipeline, Pages, PlatformClient, ResourceId } from '../port.ts'
import type { ObservedPipeline, PipelineFacts, ProjectFacts } from '../../model/observation.ts'

const text = maybe(wireText)
const time = maybe(wireTime)
const seconds = maybe(wireSeconds)
const flag = maybe(wireFlag)
const percent = maybe(wirePercent)

const person = maybe(z.object({ id: maybe(wireId), username: text }))

/** The response of `GET /projects/:id/pipelines/:pipeline_id` and `…/latest`. */
export const restPipeline = z.object({
  id: wireId,
  iid: maybe(wireId),
  project_id: wireId,
  name: maybe(wireTitle),
  status: wireStatus,
  source: text,
  ref: text,
  sha: text,
  before_sha: text,
  yaml_errors: maybe(wireMessage),
  committed_at: time,
  tag: flag,
  web_url: maybe(wireUrl),
  user: person,
  created_at: time,
  updated_at: time,
  finished_at: time,
  duration: seconds,
  queued_duration: seconds,
  coverage: percent,
  detailed_status: maybe(z.object({ label: text })),
})
export type RestPipeline = z.infer<typeof restPipeline>
/** Platforms before 13.6 do not report a pipeline's project. It is then taken from the request. */
const restPipelineOfProject = restPipeline.extend({ project_id: maybe(wireId) })

interface ListedItem extends Omit<ListedPipeline, 'project'> {
  readonly project: Partial<ProjectFacts>
}

const restListItem = (instance: string) =>
  restPipelineOfProject
    .extend({
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

/** A pipeline in the cross-project list. It must name its project. */
const restListItemOfAll = (instance: string) =>
  restListItem(instance).transform((item, context): ListedPipeline => {
    const { project } = item
    if (project.id !== undefined) return { ...item, project: { ...project, id: project.id } }
    context.addIssue({ code: 'custom', message: 'no such value', path: ['project_id'] })
    return z.NEVER
  })

/** A merge request. Only its labels are read. */
const labelled = z.object({ labels: z.unknown() })

export interface ReadVariables {
  /** The W3C traceparent, if it is valid. */
  readonly traceparent?: string | undefined
  /** The variables that the operator's attribute rules name, by name. */
  readonly allowed?: PipelineFacts['variables']
}

export interface PipelineCalls extends Pick<PlatformClient, 'ownPipelines' | 'projectPipelines'> {
  pipeline(project: number, pipelineId: number, options: CallOptions): Promise<RestPipeline>
  pipelineVariables(project: ResourceId, pipelineId: number, options: CallOptions): Promise<ReadVariables>
  /** Requests those labels of a merge request that the operator's attribute rules need. */
  changeLabels(project: ResourceId, iid: number, options: CallOptions): Promise<PipelineFacts['labels']>
}

/** Creates the pipeline calls. `wanted`: the facts that the operator's attribute rules need. */
export function pipelineCalls(api: Api, instance: string, wanted: WantedFacts | undefined): PipelineCalls {
  const [itemOfProject, itemOfAll] = [restListItem(instance), restListItemOfAll(instance)]
  return {
    ownPipelines: ({ source, createdAfter, createdBefore }, call) =>
      api.pages('/pipelines', itemOfAll, call, {
        source,
        created_after: iso(createdAfter),
        created_before: iso(createdBefore),
      }),
    projectPipelines: (project, { updatedAfter, updatedBefore, source, scope }, call) => {
      const path = `/projects/${segmentOf(project)}`
      const changed = { updated_after: iso(updatedAfter), updated_before: iso(updatedBefore) }
      const query = { ...changed, order_by: 'updated_at', sort: 'asc', source, scope }
      const pages = api.pages(`${path}/pipelines`, itemOfProject, call, query, ['updated_at'])
      return withProject(pages, project, async () => (await api.one(path, z.object({ id: wireId }), call)).id)
    },
    pipeline: async (project, id, call) => {
      const answered = await api.one(pipelinePath(project, id), restPipelineOfProject, call)
      return { ...answered, project_id: answered.project_id ?? project }
    },
    pipelineVariables: async (project, id, call) => {
      const variables = await api.one(`${pipelinePath(project, id)}/variables`, wireList, call)
      const read = readVariables(variables, wanted?.variables)
      return { traceparent: read?.traceparent, allowed: wanted?.valuesOf(read) }
    },
    changeLabels: async (project, iid, call) => {
      const path = `/projects/${segmentOf(project)}/merge_requests/${iid}`
      return wanted?.labels((await api.one(path, labelled, call)).labels)
    },
  }
}

/** Adds the project to each item. Platforms before 13.6 do not include the project in an item, but the request identifies it by number or path. */
async function* withProject(
  pages: Pages<ListedItem>,
  project: ResourceId,
  lookUp: () => Promise<number>,
): Pages<ListedPipeline> {
  const known: Partial<ProjectFacts> = /^\d+$/.test(String(project))
    ? { id: Number(project) }
    : { path: String(project) }
  let id = known.id
  for await (const page of pages) {
    const items: ListedPipeline[] = []
    for (const item of page.items) {
      const named = item.project.id ?? (id ??= await lookUp())
      items.push({ ...item, project: { ...known, ...item.project, id: named } })
    }
    yield { ...page, items }
  }
}

function pipelinePath(project: ResourceId, pipelineId: number): string {
  return `/projects/${segmentOf(project)}/pipelines/${segmentOf(pipelineId)}`
}

/** Derives the project's facts from the pipeline's web URL: `{instance}/group/project/-/pipelines/1`, without `/-` on old platforms. */
export function projectOfPipeline(
  pipeline: Pick<RestPipeline, 'web_url'> & { readonly project_id?: number | undefined },
  instance: string,
): Partial<ProjectFacts> {
  const webUrl = /^(.+?)(?:\/-)?\/pipelines\/\d+$/.exec(pipeline.web_url ?? '')?.[1]
  // The platform's links may use a different base URL from the configured one.
  const root = webUrl?.startsWith(`${instance}/`) === true ? instance : instanceOfProject(webUrl)
  const path = webUrl !== undefined && root !== undefined ? decoded(webUrl.slice(root.length + 1)) : undefined
  const { project_id: id } = pipeline
  return { ...(id !== undefined && { id }), ...knownOf({ path, webUrl }) }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

/** Returns the facts about the pipeline itself, from the pipeline's response or from a list item. */
export function observedPipelineOf(pipeline: Omit<RestPipeline, 'project_id'>): ObservedPipeline {
  const { created_at: createdAt, finished_at: finishedAt, updated_at: updatedAt } = pipeline
  return { facts: pipelineFacts(pipeline), times: knownOf({ createdAt, finishedAt, updatedAt }) }
}

function pipelineFacts(pipeline: Omit<RestPipeline, 'project_id'>): PipelineFacts {
  return {
    mergeRequest: mergeRequestOfRef(pipeline.ref),
    status: pipeline.status,
    iid: pipeline.iid,
    name: pipeline.name,
    ref: pipeline.ref,
    sha: pipeline.sha,
    beforeSha: pipeline.before_sha,
    tag: pipeline.tag,
    source: pipeline.source,
    detailedStatus: pipeline.detailed_status?.label,
    duration: pipeline.duration,
    queuedDuration: pipeline.queued_duration,
    url: pipeline.web_url,
    user: pipeline.user && anyKnown(pipeline.user),
    coverage: pipeline.coverage,
    yamlErrors: pipeline.yaml_errors,
  }
}
