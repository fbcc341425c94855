// The simulated platform's incidents, and how the API lists them.
import { offsetPage, type RestPage } from './rest-pages.ts'
import type { SimProject } from './world.ts'

export interface SimIncident {
  readonly id: number
  readonly iid: number
  readonly project: SimProject
  readonly severity: string
  readonly openedAt: number
  updatedAt: number
  closedAt?: number
}

/** The oldest are forgotten beyond that. */
const most = 2_000

export class IncidentRecords {
  readonly incidents: SimIncident[] = []
  #next = 9_001

  open(project: SimProject, severity: string, at: number): SimIncident {
    const id = this.#next++
    const one = { id, iid: id - 9_000, project, severity, openedAt: at, updatedAt: at }
    this.incidents.push(one)
    this.incidents.splice(0, Math.max(0, this.incidents.length - most))
    return one
  }

  /** Answers `GET /issues`. There are no issues of other types. */
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
