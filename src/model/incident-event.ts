// What a webhook event reports of an incident. Pure.
import { reportedIncident, type Incident } from './incident.ts'
import type { Millis } from './instant.ts'
import type { PlatformEvent } from './event.ts'

/** What an event of an incident reports; undefined for any other. */
export function incidentOfEvent(event: PlatformEvent, receivedAt: Millis): Incident | undefined {
  const { attributes, instance, project, times = {}, at = receivedAt } = event
  if (event.kind !== 'issue' || project === undefined) return undefined
  const text = (key: string): string | undefined => attributes[key]?.toString()
  const iid = Number(text('platform.issue.id'))
  if (text('platform.issue.type')?.toLowerCase() !== 'incident' || !Number.isSafeInteger(iid) || iid <= 0)
    return undefined
  const action = text('platform.issue.action')
  return reportedIncident({
    ...{ instance, project, iid, at, state: text('platform.issue.state'), severity: text('platform.issue.severity') },
    openedAt: times.createdAt ?? (action === 'open' ? at : undefined),
    closedAt: times.endedAt ?? (action === 'close' ? at : undefined),
  })
}
