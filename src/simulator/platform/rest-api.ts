// The REST API of the simulated platform, over real HTTP. It answers all requests that Pipespan sends, just as a real platform does.
import {
  restCommits,
  webPage,
  restBridge,
  restCrossItem,
  restItem,
  restJob,
  restPipeline,
  restProject,
} from './rest-answers.ts'
import { artifactsOf, jobLog, ownSpansOf, ownSpansPath } from './job-files.ts'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { json as bodyAsJson } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { RestInventory } from './rest-inventory.ts'
import { keysetPage, offsetPage, type RestPage, jsonReply, restRefusals, type RestReply } from './rest-replies.ts'
import { labelsOf } from './events.ts'
import { projects as worldProjects, type SimProject } from './world.ts'
import type { PlatformState } from './state.ts'

interface RestApiOptions {
  readonly state: PlatformState
  /** Returns the Unix time of the platform in ms, which is sent in the `Date` header. */
  readonly now: () => number
  /** The base URL in the responses. By default it is the URL of the server. */
  readonly instance?: string | undefined
  /** The token that requests must contain. If undefined, every token is accepted. */
  readonly token?: string | undefined
  /** The projects of the platform. By default these are the projects of `world.ts`. */
  readonly projects?: readonly SimProject[] | undefined
  /** The id of the user whose pipelines the cross-project list shows. */
  readonly me?: number | undefined
  /** Whether pipelines started by users count as activity of their projects. By default only the times in `activity` count. */
  readonly pushesAreActivity?: boolean | undefined
}

export interface RestRequest {
  /** The decoded path below `/api/v4`, such as `/projects/301/pipelines`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
}

/** A request about hooks. `id`: the hook whose deliveries are requested. */
export interface HooksAsked {
  readonly owner: { readonly group: string } | { readonly project: number }
  readonly id: string | undefined
  readonly url: URL
  readonly now: number
}

export class RestApi {
  readonly inventory: RestInventory
  /** All requests in order. Tests may clear the list. */
  readonly asked: RestRequest[] = []
  /** When users were last active in each project, by project id. As on the platform, schedules and retries do not count. */
  readonly activity = new Map<number, number>()
  /** The new paths of moved projects, by their old paths. */
  readonly moved = new Map<string, string>()
  /** Whether the token's user is a member of the project. */
  isMember: (project: SimProject) => boolean = () => true
  /** Answers requests about hooks. By default there are no hooks. Tests replace this function. */
  hooks: (asked: HooksAsked) => RestPage | undefined = () => ({ items: [], link: undefined })
  /** Lets tests replace a response. If this function returns a response, it is sent instead of the simulated one, which `real` creates. */
  misbehave: (request: RestRequest, real: () => RestReply) => RestReply | undefined = () => undefined
  readonly #options: RestApiOptions
  readonly #server: Server
  readonly #projects: Map<number, SimProject>

  private constructor(options: RestApiOptions, server: Server) {
    this.#options = options
    this.inventory = new RestInventory(options.now)
    this.#server = server
    this.#projects = new Map((options.projects ?? Object.values(worldProjects)).map(one => [one.id, one]))
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  /** Starts the API on a free port on the loopback address. */
  static async start(options: RestApiOptions): Promise<RestApi> {
    // This timeout is longer than any client keeps a connection open, so that no client sends a request on a connection that is being closed.
    const server = createServer({ keepAliveTimeout: 300_000 })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return new RestApi(options, server)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get instance(): string {
    return this.#options.instance ?? this.url
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', this.url)
    const path = url.pathname.replace(/^\/api\/v4/, '')
    const asked = { path: decodeURIComponent(path), query: url.searchParams, headers: request.headers }
    this.asked.push(asked)
    const sent = request.method === 'GET' ? undefined : await bodyAsJson(request).catch(() => undefined)
    const real = (): RestReply => this.#reply(path, url, request, sent)
    const { status, headers, body } = this.misbehave(asked, real) ?? real()
    response.setHeader('date', new Date(this.#options.now()).toUTCString())
    response.writeHead(status, headers).end(body)
  }

  /** Answers a request. A path outside the API, as in links to the platform, leads to a web page. */
  #reply(path: string, url: URL, { method, headers }: IncomingMessage, body: unknown): RestReply {
    if (method === 'GET' && !url.pathname.startsWith('/api/')) return webPage(url.pathname, this.#options.state)
    return this.#answer(path, url, headers, body)
  }

  #answer(path: string, url: URL, headers: IncomingMessage['headers'], body: unknown): RestReply {
    const { token } = this.#options
    const sent = headers['private-token'] ?? headers.authorization?.replace(/^Bearer /, '')
    if (token !== undefined && sent !== token) return restRefusals.wrongToken()
    const parts = path.split('/').slice(1)
    const [home, id = ''] = parts
    const rest = parts.slice(2)
    if (home === 'pipelines') return pageReply(this.#crossProject(url))
    if (home === 'issues') return pageReply(this.#options.state.incidents.page(url, this.instance))
    if (home === 'audit_events') return this.#audit(undefined, url)
    const inventory = this.inventory.ofInstance({ parts, url, body })
    if (inventory !== undefined) return inventory
    if (home === 'groups') return this.#group(decodeURIComponent(id), rest, url)
    if (home !== 'projects') return restRefusals.notFound('Not Found')
    if (id === '') return this.#list([...this.#projects.values()].filter(this.isMember), url)
    const to = this.moved.get(decodeURIComponent(id))
    if (to !== undefined) {
      const location = new URL(url)
      location.pathname = ['/api/v4/projects', encodeURIComponent(to), ...rest].join('/')
      return restRefusals.elsewhere(location.href)
    }
    const project = this.#project(decodeURIComponent(id))
    return project === undefined ? restRefusals.notFound() : this.#ofProject(project, rest, url)
  }

  #ofProject(project: SimProject, [what, which, part, ...more]: string[], url: URL): RestReply {
    const { state } = this.#options
    const { instance } = this
    if (what === undefined) return jsonReply(restProject(project, instance, this.activity.get(project.id)))
    const parts = [what, which, part, ...more].filter(one => one !== undefined)
    const inventory = this.inventory.ofProject({ parts, url, body: undefined })
    if (inventory !== undefined) return inventory
    if (what === 'audit_events') return this.#audit(project.path, url)
    if (what === 'hooks') return this.#ofHooks({ project: project.id }, which, url)
    if (what === 'repository' && which === 'commits') {
      const commits = restCommits(state, project, url.searchParams.get('ref_name') ?? '')
      return commits === undefined ? restRefusals.notFound('Tree') : pageReply(offsetPage(commits, url))
    }
    if (what === 'jobs') return this.#ofJob(project, Number(which), part, more, url)
    if (what === 'merge_requests' && part === undefined) return this.#mergeRequest(project, Number(which))
    if (what !== 'pipelines') return restRefusals.notFound('Not Found')
    if (which === undefined) return pageReply(offsetPage(this.#pipelines(project, url), url))
    const pipeline = state.pipelines.get(Number(which))
    if (pipeline?.project.id !== project.id) return restRefusals.notFound('Pipeline')
    if (part === undefined) return jsonReply(restPipeline(pipeline, instance))
    if (part === 'variables' && more.length === 0) return jsonReply(pipeline.plan.variables ?? [])
    const withRetried = url.searchParams.get('include_retried') === 'true'
    const tasks = pipeline.jobs.filter(job => job.kind === part.replace(/s$/, '') && (withRetried || !job.retried))
    const show = part === 'jobs' ? restJob : restBridge
    return pageReply(offsetPage(tasks.map(job => show(job, pipeline, instance)).reverse(), url))
  }

  #mergeRequest({ id }: SimProject, iid: number): RestReply {
    const pipelines = [...this.#options.state.pipelines.values()]
    const found = pipelines.find(({ project, mergeRequest }) => project.id === id && mergeRequest?.iid === iid)
    if (found?.mergeRequest === undefined) return restRefusals.notFound()
    const { title, sourceBranch } = found.mergeRequest
    return jsonReply({ iid, title, source_branch: sourceBranch, labels: labelsOf(sourceBranch) })
  }

  /** Returns the log, the reports or the artifacts of a job. */
  #ofJob({ id }: SimProject, jobId: number, part: string | undefined, more: readonly string[], url: URL): RestReply {
    const pipeline = [...this.#options.state.pipelines.values()].find(
      ({ project, jobs }) => project.id === id && jobs.some(job => job.id === jobId),
    )
    const job = pipeline?.jobs.find(one => one.id === jobId)
    if (pipeline === undefined || job === undefined) return restRefusals.notFound()
    if (part === 'trace') return { status: 200, headers: { 'content-type': 'text/plain' }, body: jobLog(job) }
    if (part !== 'artifacts') return restRefusals.notFound('Not Found')
    if (more.length > 0) {
      const spans = decodeURIComponent(more.join('/')) === ownSpansPath ? ownSpansOf(job) : undefined
      if (spans === undefined) return restRefusals.notFound('File')
      return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: spans }
    }
    const file = artifactsOf(job, pipeline).get(url.searchParams.get('file_type') ?? 'archive')
    if (file === undefined) return restRefusals.notFound('File')
    return { status: 200, headers: { 'content-type': 'application/gzip' }, body: file }
  }

  #pipelines(project: SimProject, url: URL): object[] {
    const query = url.searchParams
    const source = query.get('source')
    const from = timeOf(query, 'updated_after') ?? -Infinity
    const to = timeOf(query, 'updated_before') ?? Infinity
    const scope = query.get('scope')
    const found = [...this.#options.state.pipelines.values()].filter(({ project: { id }, plan, status, updatedAt }) => {
      if (id !== project.id || updatedAt < from || updatedAt > to) return false
      if (scope !== null && scope !== status) return false
      return source === null ? plan.source !== 'parent_pipeline' : plan.source === source
    })
    const key = query.get('order_by') === 'updated_at' ? 'updatedAt' : 'id'
    const sign = query.get('sort') === 'asc' ? 1 : -1
    return found.sort((a, b) => sign * (a[key] - b[key] || a.id - b.id)).map(one => restItem(one, this.instance))
  }

  #crossProject(url: URL): RestPage {
    const query = url.searchParams
    const source = query.get('source')
    const after = timeOf(query, 'created_after') ?? -Infinity
    const before = timeOf(query, 'created_before') ?? Infinity
    const { me, state } = this.#options
    const found = [...state.pipelines.values()].filter(({ plan, createdAt, user }) => {
      if (createdAt < after || createdAt > before || (me !== undefined && user.id !== me)) return false
      return source === null ? plan.source !== 'parent_pipeline' : plan.source === source
    })
    const newest = found.sort((a, b) => b.id - a.id)
    return keysetPage(
      newest.map(one => ({ id: one.id, shown: restCrossItem(one, this.instance) })),
      url,
    )
  }

  #group(group: string, [what, which]: string[], url: URL): RestReply {
    const members = [...this.#projects.values()].filter(({ path }) => path.startsWith(`${group}/`))
    if (members.length === 0) return restRefusals.notFound('Group')
    if (what === undefined)
      return jsonReply({
        id: 77,
        full_path: group,
        shared_runners_minutes_limit: 10_000,
        extra_shared_runners_minutes_limit: 500,
        ...(this.#options.state.audit.isOwner && { runners_token: 'r' }),
      })
    if (what === 'audit_events') return this.#audit(group, url)
    const inventory = this.inventory.ofGroup({ parts: [what], url, body: undefined })
    if (inventory !== undefined) return inventory
    if (what === 'hooks') return this.#ofHooks({ group }, which, url)
    return what === 'projects' ? this.#list(members, url) : restRefusals.notFound('Not Found')
  }

  /** Lists projects, most recently active first. */
  #list(members: readonly SimProject[], url: URL): RestReply {
    const after = timeOf(url.searchParams, 'last_activity_after')
    const pushed = this.#options.pushesAreActivity === true ? this.#pushes() : new Map<number, number>()
    const active = (id: number): number => Math.max(this.activity.get(id) ?? 0, pushed.get(id) ?? 0)
    const shown = members
      .filter(({ id }) => after === undefined || active(id) >= after)
      .sort((a, b) => active(b.id) - active(a.id) || b.id - a.id)
    return pageReply(
      offsetPage(
        shown.map(one => restProject(one, this.instance, active(one.id))),
        url,
      ),
    )
  }

  #audit(within: string | undefined, url: URL): RestReply {
    const page = this.#options.state.audit.page(within, url)
    return page === undefined
      ? restRefusals.refused('created_before is more than 30 days after created_after')
      : pageReply(page)
  }

  #pushes(): Map<number, number> {
    const byUsers = new Set(['push', 'merge_request_event', 'web'])
    const latest = new Map<number, number>()
    for (const { project, plan, createdAt } of this.#options.state.pipelines.values()) {
      if (byUsers.has(plan.source)) latest.set(project.id, Math.max(latest.get(project.id) ?? 0, createdAt))
    }
    return latest
  }

  #ofHooks(owner: HooksAsked['owner'], id: string | undefined, url: URL): RestReply {
    const found = this.hooks({ owner, id, url, now: this.#options.now() })
    return found === undefined ? restRefusals.notFound('Hook') : pageReply(found)
  }

  #project(idOrPath: string): SimProject | undefined {
    if (/^\d+$/.test(idOrPath)) return this.#projects.get(Number(idOrPath))
    return [...this.#projects.values()].find(({ path }) => path === idOrPath)
  }
}

function timeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  return text === null ? undefined : Date.parse(text)
}

function pageReply({ items, link }: RestPage): RestReply {
  const reply = jsonReply(items)
  return link === undefined ? reply : { ...reply, headers: { ...reply.headers, link } }
}
