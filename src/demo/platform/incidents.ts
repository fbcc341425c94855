// The simulated platform's incidents: now and then a deployment to production breaks something, and somebody mends it; how the API lists them, and the
// event that a webhook sends.
import { offsetPage, type RestPage } from './rest-pages.ts'
import { users, type SimProject, type SimUser } from './world.ts'
import { wireProject, wireTime, wireUser } from './wire-words.ts'
import type { Delivery } from './delivery.ts'
import type { News } from './lifecycle.ts'
import type { Random } from './random.ts'
import type { Timeline } from './timeline.ts'

export interface SimIncident {
  readonly id: number
  readonly iid: number
  readonly project: SimProject
  readonly severity: string
  readonly openedAt: number
  updatedAt: number
  closedAt?: number
}

/** Those that are remembered. */
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

  /** As `GET /issues` has them: of all types but incidents there are none. */
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

export function incidentPayload(
  { id, iid, project, severity, openedAt, updatedAt, closedAt }: SimIncident,
  action: 'open' | 'close',
  user: SimUser,
  instance: string,
): object {
  return {
    ...{ object_kind: 'issue', event_type: 'issue', user: wireUser(user), project: wireProject(project, instance) },
    object_attributes: {
      ...{ id, iid, title: 'Something is broken', description: '', project_id: project.id, action },
      created_at: wireTime(openedAt),
      updated_at: wireTime(updatedAt),
      closed_at: closedAt === undefined ? null : wireTime(closedAt),
      state: closedAt === undefined ? 'opened' : 'closed',
      ...{ type: 'Incident', severity, confidential: false },
      url: `${instance}/${project.path}/-/issues/${iid}`,
    },
    ...{ labels: [], changes: {} },
  }
}

/** Called with the news of pipelines; `send` is called with the events of their incidents. Some ends are reported by nobody. */
export function createIncidents(
  records: IncidentRecords,
  instance: string,
  timeline: Timeline,
  random: Random,
  send: (delivery: Delivery) => void,
): (news: News) => void {
  return ({ job, pipeline }) => {
    const isOver = job?.status === 'success' || job?.status === 'failed'
    if (job?.plan.environment?.tier !== 'production' || !isOver) return
    if (!random.chance(job.status === 'failed' ? 0.6 : 0.15)) return
    const tell = (one: SimIncident, action: 'open' | 'close'): void => {
      const body = JSON.stringify(incidentPayload(one, action, random.pick(users), instance))
      const ids = { pipelineId: pipeline.id, jobId: undefined }
      send({ kind: 'issue', at: timeline.now, ...ids, key: random.uuid(), body })
    }
    timeline.after(random.between(60, 600), () => {
      const severity = random.pick(['low', 'medium', 'high', 'critical'] as const)
      const one = records.open(pipeline.project, severity, timeline.now)
      tell(one, 'open')
      timeline.after(random.between(600, 5_400), () => {
        one.closedAt = one.updatedAt = timeline.now
        if (random.chance(0.8)) tell(one, 'close')
      })
    })
  }
}
