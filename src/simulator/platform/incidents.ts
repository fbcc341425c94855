// The simulated platform's incidents: now and then a deployment to production causes one, which is resolved later; and the payload of
// their events.
import { users, type SimUser } from './world.ts'
import { wireProject, wireTime, wireUser } from './wire-words.ts'
import { deliveryWith, type Delivery } from './delivery.ts'
import type { IncidentRecords, SimIncident } from './incident-records.ts'
import type { News } from './lifecycle.ts'
import type { Random } from './random.ts'
import type { Timeline } from './timeline.ts'

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

/** Call it with the news of pipelines. `send` gets the events of incidents, except for some that are closed without an event. */
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
