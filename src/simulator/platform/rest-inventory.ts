// The inventory of the simulated platform (everything except pipelines): agents, feature flags, milestones, runners, schedules, branches, dependency
// lists, and query results.
import { offsetPage, jsonReply, restRefusals, type RestReply } from './rest-replies.ts'
import { projects } from './world.ts'

interface InventoryAsked {
  /** The decoded path segments below the project, the group or the base of the API. */
  readonly parts: readonly string[]
  readonly url: URL
  readonly body: unknown
}

const day = 86_400_000

export class RestInventory {
  /** Returns the Unix time of the platform in ms. */
  readonly #now: () => number
  readonly #exports = new Map<number, { checks: number; components: readonly string[] }>()
  /** The package URLs of the components that every project has. */
  components: readonly string[] = [
    'pkg:npm/fastify@5.2.0',
    'pkg:npm/pino@9.5.0',
    'pkg:npm/undici@7.1.0',
    'pkg:docker/node@24',
    'pkg:golang/github.com/gorilla/mux@1.8.1',
  ]
  /** The query results. The first result whose `has` matches the text of the query is returned. */
  readonly queries: { readonly has: RegExp; readonly answer: object }[] = [
    {
      has: /MergeRequest/,
      answer: { success: true, error: null, data: { count: 23, nodes: [], pageInfo: {} }, fields: [] },
    },
    {
      has: /Pipeline/,
      answer: {
        success: true,
        error: null,
        data: {
          count: 2,
          nodes: [
            { ref: 'main', p50: 412 },
            { ref: 'release', p50: 633.5 },
          ],
          pageInfo: { hasNextPage: false },
        },
        fields: [
          { field: 'ref', key: 'ref', type: 'dimension' },
          { field: 'p50', key: 'p50', type: 'metric' },
        ],
      },
    },
  ]

  constructor(now: () => number) {
    this.#now = now
  }

  /** Responds to a request about a project's inventory. Returns undefined for requests about other data. */
  ofProject({ parts, url }: InventoryAsked): RestReply | undefined {
    const [what, ...more] = parts
    switch (what) {
      case 'cluster_agents':
        return this.#agents(more, url)
      case 'feature_flags':
        return jsonReply(this.#flags())
      case 'milestones':
        return jsonReply(this.#milestones())
      case 'runners':
        return jsonReply(this.#runners())
      case 'ci':
        return more[0] === 'lint' ? jsonReply(this.#lint(url)) : undefined
      case 'pipeline_schedules':
        return this.#schedules(more)
      case 'repository':
        return this.#refs(more[0])
      case 'dependency_firewall':
        return jsonReply({ enabled: true })
      case 'dependency_list_exports':
        return this.#begin()
      default:
        return undefined
    }
  }

  ofGroup({ parts: [what] }: InventoryAsked): RestReply | undefined {
    if (what === 'runners') return jsonReply(this.#runners())
    return what === 'milestones' ? jsonReply(this.#milestones()) : undefined
  }

  /** Responds to requests that concern neither a project nor a group. */
  ofInstance({ parts: [what, id, part], body }: InventoryAsked): RestReply | undefined {
    if (what === 'dependency_list_exports') return this.#export(Number(id), part)
    if (what === 'runners') return this.#runner(id, part)
    if (what !== 'glql') return undefined
    const text = (body as { glql_yaml?: unknown } | undefined)?.glql_yaml
    const found = this.queries.find(({ has }) => typeof text === 'string' && has.test(text))
    return jsonReply(found?.answer ?? { success: false, error: 'Unexpected end of query', data: null, fields: null })
  }

  #agents([id, tokens, token]: readonly string[], url: URL): RestReply {
    const agents = [
      { id: 5, name: 'production', lastUsed: this.#now() - 40_000 },
      { id: 6, name: 'staging', lastUsed: this.#now() - 3 * 3_600_000 },
    ]
    if (id === undefined) return jsonReply(agents.map(one => ({ id: one.id, name: one.name })))
    const agent = agents.find(one => String(one.id) === id)
    if (agent === undefined || tokens !== 'tokens') return restRefusals.notFound()
    const own = { id: agent.id * 10, agent_id: agent.id, status: 'active' }
    if (token !== undefined) return jsonReply({ ...own, last_used_at: new Date(agent.lastUsed).toISOString() })
    return jsonReply(offsetPage([own], url).items)
  }

  #flags(): object[] {
    const of = (scope: string) => [{ name: 'default', scopes: [{ environment_scope: scope }] }]
    const made = (days: number) => new Date(this.#now() - days * day).toISOString()
    return [
      { name: 'new_checkout', active: true, created_at: made(12), strategies: of('production') },
      { name: 'dark_mode', active: false, created_at: made(400), strategies: of('*') },
    ]
  }

  #milestones(): object[] {
    const due = (days: number) => new Date(this.#now() + days * day).toISOString().slice(0, 10)
    return [
      { id: 1, title: 'Autumn release', state: 'active', due_date: due(9) },
      { id: 2, title: 'Some day', state: 'active', due_date: null },
    ]
  }

  /** Returns the response about a project's CI configuration. One project uses older versions than the others. */
  #lint({ pathname }: URL): object {
    const isBehind = pathname.includes(`/${projects.infra.id}/`) || pathname.includes('infrastructure')
    const of = (type: string, location: string, extra: object = {}) => ({ type, location, extra })
    return {
      ...{ valid: true, errors: [], warnings: [], merged_yaml: 'build: { script: make }' },
      includes: [
        of('component', `git.example.com/brightwater/components/container-scan@${isBehind ? '1.9.4' : '2.3.0'}`),
        of('file', '/templates/deploy.yml', { project: 'brightwater/ci-templates', ref: isBehind ? 'v3' : 'v4' }),
        of('template', 'Jobs/SAST.gitlab-ci.yml'),
        of('local', '/.gitlab/ci/tests.yml'),
      ],
    }
  }

  #runners(): { id: number; status: string }[] {
    const of = (id: number, description: string, more: object) => ({
      ...{ id, description, paused: false, status: 'online', runner_type: 'group_type' },
      ...more,
    })
    return [
      of(31, 'linux-1', { job_execution_status: 'active' }),
      of(32, 'linux-2', { job_execution_status: 'idle' }),
      of(33, 'gpu-1', { job_execution_status: 'idle', paused: true }),
      of(34, 'macos-1', { job_execution_status: 'idle', status: 'offline' }),
    ]
  }

  #runner(id: string | undefined, part: string | undefined): RestReply {
    if (id === 'all') return jsonReply(this.#runners())
    const found = this.#runners().find(one => String(one.id) === id)
    if (found === undefined) return restRefusals.notFound()
    if (part === 'jobs') return jsonReply([])
    const contacted = this.#now() - (found.status === 'online' ? 20_000 : 5 * 3_600_000)
    const kind = ['linux', 'linux', 'gpu', 'macos'][found.id - 31]
    return jsonReply({
      ...{ ...found, version: '18.7.0', tag_list: ['docker', kind] },
      contacted_at: new Date(contacted).toISOString(),
    })
  }

  #schedules([id]: readonly string[]): RestReply {
    const at = (ms: number) => new Date(this.#now() + ms).toISOString()
    const of = (own: number, description: string, more: object) => ({
      ...{ id: own, description, ref: 'main', cron: '0 3 * * *', cron_timezone: 'UTC', active: true },
      ...{ next_run_at: at(5 * 3_600_000), created_at: at(-90 * day), owner: { username: 'mira', state: 'active' } },
      ...more,
    })
    const all = [
      of(21, 'Nightly build', {}),
      of(22, 'Weekly dependency update', { next_run_at: at(3 * day), cron: '0 6 * * 1' }),
      of(23, 'Old load test', { active: false }),
    ]
    if (id === undefined) return jsonReply(all)
    const found = all.find(one => String(one.id) === id)
    if (found === undefined) return restRefusals.notFound()
    return jsonReply({
      ...found,
      last_pipeline: { id: 4_000 + found.id, status: 'success', created_at: at(-19 * 3_600_000) },
    })
  }

  #refs(which: string | undefined): RestReply | undefined {
    if (which === 'branches') return jsonReply(['main', 'develop', 'feature/search'].map(name => ({ name })))
    return which === 'tags' ? jsonReply(['v1.0.0', 'v1.1.0'].map(name => ({ name }))) : undefined
  }

  #begin(): RestReply {
    const id = 900 + this.#exports.size
    this.#exports.set(id, { checks: 0, components: this.components })
    return jsonReply({ id, status: 'running', has_finished: false }, 201)
  }

  #export(id: number, part: string | undefined): RestReply {
    const found = this.#exports.get(id)
    if (found === undefined) return restRefusals.notFound()
    if (part === 'download') {
      const components = found.components.map(purl => ({ type: 'library', name: purl, purl }))
      return jsonReply({ bomFormat: 'CycloneDX', specVersion: '1.6', components })
    }
    found.checks += 1
    return found.checks > 1
      ? jsonReply({ id, status: 'finished', has_finished: true })
      : jsonReply({ id, status: 'running', has_finished: false }, 202)
  }
}
