// The merge requests of the simulated platform: their events and their life cycle. A merge request is opened shortly before its first pipeline. After
// a successful pipeline it is approved and merged, or sometimes closed.
import { users, type SimProject, type SimUser } from './world.ts'
import { deliveryWith, type Delivery } from './delivery.ts'
import type { News } from './lifecycle.ts'
import type { Random } from './random.ts'
import type { SimPipeline } from './state.ts'
import type { Timeline } from './timeline.ts'
import { wireProject, wireTime, wireUser } from './payloads.ts'
import type { IncidentRecords, SimIncident } from './records.ts'

/** Creates merge requests for pipelines. The returned function must be called for each pipeline change. `send` receives the merge request events. */
export function createChanges(
  instance: string,
  timeline: Timeline,
  random: Random,
  send: (delivery: Delivery) => void,
): (news: News) => void {
  const changes = new Map<string, SimChange>()

  function emit(change: SimChange, pipeline: SimPipeline, action: ChangeAction): void {
    const at = timeline.now
    const user = action === 'open' ? pipeline.user : random.pick(users)
    const payload = changePayload(change, { action, at, user }, instance)
    send(deliveryWith(payload, 'change', { at, pipeline }, random))
  }

  function begin(pipeline: SimPipeline, name: string): void {
    const { mergeRequest, project } = pipeline
    if (mergeRequest === undefined) return
    const createdAt = timeline.now - random.whole(2, 90) * 1_000
    const change: SimChange = { ...mergeRequest, project, createdAt, state: 'opened' }
    changes.set(name, change)
    emit(change, pipeline, 'open')
  }

  /** Ends a merge request after a successful pipeline. */
  function end(change: SimChange, pipeline: SimPipeline): void {
    if (random.chance(0.8)) timeline.after(random.between(20, 60), () => emit(change, pipeline, 'approved'))
    timeline.after(random.between(90, 400), () => {
      if (change.state !== 'opened') return
      change.state = random.chance(0.9) ? 'merged' : 'closed'
      emit(change, pipeline, change.state === 'merged' ? 'merge' : 'close')
    })
  }

  return ({ kind, pipeline }) => {
    const { mergeRequest, project } = pipeline
    if (kind !== 'pipeline' || mergeRequest === undefined) return
    const name = `${project.id} ${mergeRequest.iid}`
    const change = changes.get(name)
    if (change === undefined) begin(pipeline, name)
    else if (pipeline.status === 'success' && change.state === 'opened') end(change, pipeline)
  }
}

export type ChangeAction = 'open' | 'update' | 'approval' | 'approved' | 'unapproved' | 'close' | 'reopen' | 'merge'

export interface SimChange {
  readonly id: number
  readonly iid: number
  readonly project: SimProject
  readonly title: string
  readonly sourceBranch: string
  readonly targetBranch: string
  readonly createdAt: number
  state: 'opened' | 'closed' | 'merged'
}

/** Returns the label titles of a merge request. The kind of change is derived from the branch name. */
export function labelsOf(sourceBranch: string): string[] {
  const [kind = '', name] = sourceBranch.split('/')
  return [`kind::${name !== undefined && ['feature', 'fix', 'chore'].includes(kind) ? kind : 'other'}`]
}

export function changePayload(
  { id, iid, project, title, sourceBranch, targetBranch, createdAt, state }: SimChange,
  { action, at, user }: { readonly action: ChangeAction; readonly at: number; readonly user: SimUser },
  instance: string,
): object {
  return {
    object_kind: 'merge_request',
    event_type: 'merge_request',
    user: wireUser(user),
    project: wireProject(project, instance),
    object_attributes: {
      ...{ id, iid, title, state, action, author_id: user.id },
      description: '',
      source_branch: sourceBranch,
      target_branch: targetBranch,
      source_project_id: project.id,
      target_project_id: project.id,
      created_at: wireTime(createdAt),
      updated_at: wireTime(at),
      draft: title.startsWith('Draft:'),
      work_in_progress: title.startsWith('Draft:'),
      url: `${instance}/${project.path}/-/merge_requests/${iid}`,
    },
    labels: labelsOf(sourceBranch).map(title => ({ title, type: 'ProjectLabel' })),
    changes: {},
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

/**
 * Creates incidents: sometimes a deployment to production causes an incident, which is resolved later. The returned function must be called for each
 * pipeline change. `send` receives the incident events, except for some incidents that are closed without an event.
 */
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
    const emit = (one: SimIncident, action: 'open' | 'close'): void => {
      const payload = incidentPayload(one, action, random.pick(users), instance)
      send(deliveryWith(payload, 'issue', { at: timeline.now, pipeline }, random))
    }
    timeline.after(random.between(60, 600), () => {
      const severity = random.pick(['low', 'medium', 'high', 'critical'] as const)
      const one = records.open(pipeline.project, severity, timeline.now)
      emit(one, 'open')
      timeline.after(random.between(600, 5_400), () => {
        one.closedAt = one.updatedAt = timeline.now
        if (random.chance(0.8)) emit(one, 'close')
      })
    })
  }
}
