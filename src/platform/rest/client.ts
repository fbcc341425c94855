// Offers the platform's REST API as typed calls. The rules of all requests are in `request.ts`, the shapes of answers in `schemas.ts` and `lists.ts`.
import { z } from 'zod'
import { ConfigError } from '../../lib/fault.ts'
import { normalizeInstance } from '../../model/instance.ts'
import { answersAbout, type PipelineCalls } from './answers.ts'
import { allOf } from './pages.ts'
import { createAsking, type Asking } from './asking.ts'
import { connectRules, directDispatcher, type DispatcherFactory } from './connection.ts'
import { createJobLogReader } from './job-log.ts'
import type { CallOptions, ListedPipeline, Pages, PlatformClient, ResourceId } from '../port.ts'
import { createReader, type OnLeftOut } from './read.ts'
import { createRequester } from './request.ts'
import type { RequesterOptions, RetryRules } from './call.ts'
import { testReport, type RestTestReport } from '../reports/test-report-json.ts'
import { hooksPath, restHook, wireHook } from './hooks.ts'
import { wireList } from './wire-field.ts'
import { encodeQuery, segmentOf } from './query.ts'
import { restBridge, restJob, restPipelineOfProject } from './schemas.ts'
import { auditPath, auditQuery, defaultAuditWords, restAuditEvent, type AuditWords } from './audit-event.ts'
import {
  restCommit,
  restDelivery,
  restGroup,
  restIncident,
  restListItem,
  restListItemOfAll,
  restProject,
  restUser,
  type ListedItem,
} from './lists.ts'
import { readVariables, type WantedFacts } from '../wanted-facts.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectFacts } from '../../model/observation.ts'

export interface PlatformClientOptions extends Omit<RequesterOptions, 'dispatcher' | 'limits' | 'retry' | 'basePath'> {
  /** Base URL of the platform, without `/api/v4`. */
  readonly url: string
  /** A certificate authority that is trusted in addition to the default ones, PEM. */
  readonly ca?: string | undefined
  /** Makes the connections, if they are not direct. */
  readonly dispatcher?: DispatcherFactory | undefined
  /** Timeouts, ms. */
  readonly timeouts?: { readonly connect: number; readonly answer: number } | undefined
  readonly retry?: RetryRules | undefined
  /** Maximum size of an answer, bytes. */
  readonly maxBytes?: number | undefined
  readonly onLeftOut?: OnLeftOut | undefined
  /** How audit events are read. By default known secrets are redacted and addresses of clients omitted. */
  readonly auditWords?: AuditWords | undefined
  /** What the operator's rules for attributes want; nothing by default. */
  readonly wanted?: WantedFacts | undefined
}

/** The client with the calls that only this room makes. */
export interface RestClient extends PlatformClient, PipelineCalls {
  /** Streams one of a job's artifacts, or a file in its archive, to `read`. Errors of `read` are passed on. */
  jobArtifact<T>(
    project: ResourceId,
    jobId: number,
    which: { readonly type: string } | { readonly path: string },
    options: CallOptions,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
  ): Promise<T>
  /** The test reports of a pipeline's latest jobs, as parsed by the platform. */
  testReport(project: ResourceId, pipelineId: number, options: CallOptions): Promise<RestTestReport>
  /** Requests to any path of the API, for the inventory. */
  asking(options: CallOptions): Asking
}

/** A merge request: only its labels are read. */
const labelled = z.object({ labels: z.unknown() })

/** The platform's number for the role Maintainer, the lowest role that may edit a project's hooks. */
const maintainer = 40

const defaults = {
  timeouts: { connect: 10_000, answer: 60_000 },
  retry: { tries: 4, refusals: 5, first: 1_000, max: 30_000 },
  maxBytes: 32 * 1024 * 1024,
}

/** Throws a ConfigError if `url` is not an http(s) address. */
export function createPlatformClient(options: PlatformClientOptions): RestClient {
  const instance = normalizeInstance(options.url)
  if (instance === undefined) {
    throw new ConfigError(
      'PIPESPAN_PLATFORM_URL is not an http(s) address.',
      'Set it to the address of the platform, such as https://git.example.com.',
    )
  }
  const { connect, answer } = options.timeouts ?? defaults.timeouts
  const base = `${instance}/api/v4`
  const requester = createRequester({
    ...options,
    dispatcher: (options.dispatcher ?? directDispatcher)(connectRules(options.ca, connect)),
    limits: { answerMs: answer, maxBytes: options.maxBytes ?? defaults.maxBytes },
    retry: options.retry ?? defaults.retry,
    basePath: new URL(base).pathname,
  })
  const reader = createReader(base, requester, options.log, options.onLeftOut)
  const { one, pages, change } = reader
  const readJobLog = createJobLogReader(requester)
  const [pipelineItem, pipelineOfAll, incident] = [
    restListItem(instance),
    restListItemOfAll(instance),
    restIncident(instance),
  ]
  const delivery = restDelivery(options.wanted?.variables)
  const auditEvent = restAuditEvent(instance, options.auditWords ?? defaultAuditWords)
  const client: RestClient = {
    instance,
    about: pipeline => answersAbout(client, pipeline),
    ownPipelines: ({ source, createdAfter, createdBefore }, call) =>
      pages('/pipelines', pipelineOfAll, call, {
        source,
        created_after: iso(createdAfter),
        created_before: iso(createdBefore),
      }),
    projectPipelines: (project, { updatedAfter, updatedBefore, source, scope }, call) =>
      withProject(
        pages(
          `/projects/${segmentOf(project)}/pipelines`,
          pipelineItem,
          call,
          {
            updated_after: iso(updatedAfter),
            updated_before: iso(updatedBefore),
            order_by: 'updated_at',
            sort: 'asc',
            source,
            scope,
          },
          ['updated_at'],
        ),
        project,
        async () => (await client.project(project, call)).id,
      ),
    pipeline: async (project, id, call) => {
      const answered = await one(pipelinePath(project, id), restPipelineOfProject, call)
      return { ...answered, project_id: answered.project_id ?? project }
    },
    pipelineJobs: (project, id, call) =>
      pages(`${pipelinePath(project, id)}/jobs`, restJob, call, { include_retried: true }),
    pipelineBridges: (project, id, call) => pages(`${pipelinePath(project, id)}/bridges`, restBridge, call),
    changeLabels: async (project, iid, call) =>
      options.wanted?.labels(
        (await one(`/projects/${segmentOf(project)}/merge_requests/${iid}`, labelled, call)).labels,
      ),
    pipelineVariables: async (project, id, call) => {
      const { wanted } = options
      const read = readVariables(await one(`${pipelinePath(project, id)}/variables`, wireList, call), wanted?.variables)
      return { traceparent: read?.traceparent, allowed: wanted?.valuesOf(read) }
    },
    project: (project, call) => one(`/projects/${segmentOf(project)}`, restProject, call),
    isAdministrator: async call => (await one('/user', restUser, call)).is_admin === true,
    projects: (of, { activeAfter }, call) => {
      const active = { order_by: 'last_activity_at', sort: 'desc', last_activity_after: iso(activeAfter) }
      if (typeof of === 'object')
        return pages(`/groups/${segmentOf(of.group)}/projects`, restProject, call, {
          include_subgroups: true,
          ...active,
        })
      const byId = { pagination: 'keyset', order_by: 'id', sort: 'asc' }
      return pages('/projects', restProject, call, {
        archived: false,
        min_access_level: of === 'maintained' ? maintainer : undefined,
        ...(of === 'member' ? { membership: true, ...active } : byId),
      })
    },
    hooks: async (owner, call) => allOf(pages(hooksPath(owner), restHook, call)),
    createHook: (owner, wish, call) =>
      change(hooksPath(owner), restHook, call, { method: 'POST', ...wireHook(wish, { push_events: false }) }),
    editHook: (owner, hookId, wish, call) =>
      change(`${hooksPath(owner)}/${hookId}`, restHook, call, { method: 'PUT', ...wireHook(wish) }),
    hookDeliveries: (owner, hookId, call) => pages(`${hooksPath(owner)}/${hookId}/events`, delivery, call),
    auditEvents: (source, period, call) => pages(auditPath(source), auditEvent, call, auditQuery(period)),
    incidents: ({ updatedAfter }, call) =>
      pages('/issues', incident, call, {
        scope: 'all',
        issue_type: 'incident',
        updated_after: iso(updatedAfter),
        order_by: 'updated_at',
        sort: 'asc',
      }),
    ownsGroup: (group, call) => one(`/groups/${segmentOf(group)}`, restGroup, call, { with_projects: false }),
    commits: (project, { from, to, firstParent }, call) =>
      pages(
        `/projects/${segmentOf(project)}/repository/commits`,
        restCommit,
        call,
        {
          ref_name: `${from}..${to}`,
          first_parent: firstParent === true ? true : undefined,
        },
        ['committed_date'],
      ),
    jobLog: (project, jobId, call) =>
      readJobLog(new URL(`${base}/projects/${segmentOf(project)}/jobs/${segmentOf(jobId)}/trace`), call),
    jobArtifact: async (project, jobId, which, call, read) => {
      const file =
        'path' in which
          ? `/${which.path.split('/').map(encodeURIComponent).join('/')}`
          : `?${encodeQuery({ file_type: which.type })}`
      const url = new URL(`${base}/projects/${segmentOf(project)}/jobs/${segmentOf(jobId)}/artifacts${file}`)
      return requester.stream(url, call, async answer => read(answer.body))
    },
    testReport: async (project, pipelineId, call) =>
      one(`${pipelinePath(project, pipelineId)}/test_report`, testReport, call),
    asking: call => createAsking(reader, call),
    close: () => requester.close(),
  }
  return client
}

/** Items of platforms before 13.6 do not name their project, which the request knows by its number or its path. */
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

function iso(at: Millis | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}
