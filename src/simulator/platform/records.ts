// The audit events and incidents of the simulated platform, and its responses to the API requests that list them.
import { users, projects, type SimUser, type SimProject } from './world.ts'
import type { Random } from './random.ts'
import { type RestPage, offsetPage } from './rest-replies.ts'

export interface SimAuditEvent {
  readonly id: number
  /** The Unix time of the event in ms. */
  readonly at: number
  readonly author: SimUser
  readonly entity: { readonly type: 'Project' | 'Group' | 'User'; readonly id: number; readonly path: string }
  /** The details in the format of the platform, such as `{ change: 'visibility', from: 'Private', to: 'Internal' }`. */
  readonly details: Readonly<Record<string, unknown>>
  readonly eventType?: string | undefined
}

/** The maximum number of audit events that are kept. The oldest events are dropped first. */
const maxRemembered = 20_000
const maxPerPage = 100
/** The maximum time range that may be requested for the whole instance, in ms. The platform rejects longer ranges. */
const maxRange = 30 * 24 * 3_600_000

export class AuditRecords {
  readonly events: SimAuditEvent[] = []
  /** Whether the token's user owns everything. Other tokens can list only their own user's actions, and in this simulation that user has none. */
  isOwner = true
  #next = 70_001

  /** Records an event under the next id. Its time may be earlier than the times of events with lower ids, as if the platform had written it late. */
  record(event: Omit<SimAuditEvent, 'id'>): SimAuditEvent {
    const one = { id: this.#next++, ...event }
    this.events.push(one)
    return one
  }

  /** Records a random action of a random user. */
  happen(random: Random, at: number): SimAuditEvent {
    this.events.splice(0, Math.max(0, this.events.length - maxRemembered))
    return this.record({ at, author: random.pick(users), ...random.pick(deeds)(random) })
  }

  /** Returns a page of the events of the instance, or of a group or project by its path. Returns undefined if the time range is too long. */
  page(owner: string | undefined, url: URL): RestPage | undefined {
    const { searchParams: query } = url
    const from = Date.parse(query.get('created_after') ?? '')
    const to = query.has('created_before') ? Date.parse(query.get('created_before') ?? '') : Infinity
    if (owner === undefined && to !== Infinity && to - from > maxRange) return undefined
    const cursor = Number(query.get('cursor') ?? Infinity)
    const size = Math.min(maxPerPage, Number(query.get('per_page') ?? 20))
    const seen = owner === undefined || this.isOwner ? this.events : []
    const rest = seen
      // Times are compared in whole seconds, and both ends are included.
      .filter(({ at }) => at >= from && Math.floor(at / 1_000) * 1_000 <= to)
      .filter(({ id, entity }) => id < cursor && (owner === undefined || isWithin(entity.path, owner)))
      .sort((a, b) => b.id - a.id)
    const items = rest.slice(0, size)
    const next = new URL(url)
    next.searchParams.set('cursor', String(items.at(-1)?.id ?? 0))
    return { items: items.map(shown), link: rest.length > size ? `<${next.href}>; rel="next"` : undefined }
  }
}

function isWithin(path: string, owner: string): boolean {
  return path === owner || path.startsWith(`${owner}/`)
}

function shown({ id, at, author, entity, details, eventType }: SimAuditEvent): object {
  return {
    id,
    author_id: author.id,
    entity_id: entity.id,
    entity_type: entity.type,
    ...(eventType === undefined ? {} : { event_type: eventType }),
    details: {
      author_name: author.name,
      author_email: author.email,
      author_class: 'User',
      entity_path: entity.path,
      ip_address: '203.0.113.7',
      ...details,
    },
    created_at: new Date(at).toISOString(),
  }
}

const company = { type: 'Group', id: 77, path: 'brightwater' } as const

const deeds: readonly [Deed, ...Deed[]] = [
  random => {
    const { id, name, path } = random.pick(Object.values(projects) as [typeof projects.app])
    const target = { target_id: id, target_type: 'Project', target_details: name }
    const details = { change: 'visibility', from: 'Private', to: 'Internal', ...target }
    return { entity: { type: 'Project', id, path }, details }
  },
  random => {
    const { id, name } = random.pick(users)
    const details = { add: 'user_access', as: 'Maintainer', target_id: id, target_type: 'User', target_details: name }
    return { entity: company, details }
  },
  random => {
    const { id, path } = random.pick(Object.values(projects) as [typeof projects.app])
    const target = { target_id: 'release', target_type: 'ProtectedBranch', target_details: 'release/*' }
    const details = { custom_message: 'Changed who may push to release/* from Maintainers to nobody', ...target }
    return { entity: { type: 'Project', id, path }, details, eventType: 'protected_branch_updated' }
  },
]

type Deed = (random: Random) => Pick<SimAuditEvent, 'entity' | 'details' | 'eventType'>

export interface SimIncident {
  readonly id: number
  readonly iid: number
  readonly project: SimProject
  readonly severity: string
  readonly openedAt: number
  updatedAt: number
  closedAt?: number
}

/** The maximum number of incidents that are kept. The oldest incidents are dropped first. */
const maxIncidents = 2_000

export class IncidentRecords {
  readonly incidents: SimIncident[] = []
  #next = 9_001

  open(project: SimProject, severity: string, at: number): SimIncident {
    const id = this.#next++
    const one = { id, iid: id - 9_000, project, severity, openedAt: at, updatedAt: at }
    this.incidents.push(one)
    this.incidents.splice(0, Math.max(0, this.incidents.length - maxIncidents))
    return one
  }

  /** Responds to `GET /issues`. The simulated platform has no issues of other types. */
  page(url: URL, instance: string): RestPage {
    const { searchParams: query } = url
    const from = Date.parse(query.get('updated_after') ?? '1970-01-01T00:00:00Z')
    const sign = query.get('sort') === 'asc' ? 1 : -1
    const key = query.get('order_by') === 'updated_at' ? 'updatedAt' : 'openedAt'
    const isAll = query.get('scope') === 'all' && query.get('issue_type') === 'incident'
    const found = (isAll ? this.incidents : [])
      .filter(({ updatedAt }) => updatedAt >= from)
      .sort((a, b) => sign * (a[key] - b[key] || a.id - b.id))
    return offsetPage(
      found.map(one => listed(one, instance)),
      url,
    )
  }
}

function listed({ id, iid, project, severity, openedAt, updatedAt, closedAt }: SimIncident, instance: string): object {
  const iso = (at: number): string => new Date(at).toISOString()
  return {
    ...{ id, iid, project_id: project.id, title: 'Something is broken', issue_type: 'incident' },
    state: closedAt === undefined ? 'opened' : 'closed',
    severity: severity.toUpperCase(),
    ...{ created_at: iso(openedAt), updated_at: iso(updatedAt) },
    closed_at: closedAt === undefined ? null : iso(closedAt),
    references: { short: `#${iid}`, relative: `#${iid}`, full: `${project.path}#${iid}` },
    web_url: `${instance}/${project.path}/-/issues/${iid}`,
  }
}
