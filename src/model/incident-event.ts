// What a webhook event reports of an incident. Pure.
import { idOf, type PlatformEvent } from './event.ts'
import { reportedIncident, type Incident } from './incident.ts'
import type { Millis } from './instant.ts'

/** Undefined for any other event. An issue of another type may have been an incident before: only the store knows. */
export function incidentOfEvent(event: PlatformEvent, receivedAt: Millis): Incident | undefined {
  const { attributes, instance, project, times = {}, at = receivedAt } = event
  if (event.kind !== 'issue' || project === undefined) return undefined
  const text = (key: string): string | undefined => attributes[key]?.toString()
  const iid = idOf(event, 'platform.issue.id')
  const type = text('platform.issue.type')?.toLowerCase()
  if (type === undefined || iid === undefined) return undefined
  if (type !== 'incident') return reportedIncident({ instance, project, iid, at, state: 'retyped' })
  const action = text('platform.issue.action')
  return reportedIncident({
    ...{ instance, project, iid, at, state: text('platform.issue.state'), severity: text('platform.issue.severity') },
    openedAt: times.createdAt ?? (action === 'open' ? at : undefined),
    closedAt: times.endedAt ?? (action === 'close' ? at : undefined),
  })
}
