// Writes events that no delivery reported, such as those from the platform's API, each once.
import { ofInstance } from '../../model/instance.ts'
import { routed, subjectOf } from '../../model/route.ts'
import { eventChunk, type PlatformEvent } from '../../model/event.ts'
import type { EventRules } from './event-reports.ts'
import type { Millis } from '../../model/instant.ts'
import type { Reports, Runs } from '../store/ports/runs.ts'
import type { Selection } from './selection.ts'

export interface EventTaking {
  readonly runs: Pick<Runs, 'transact'>
  readonly selection: Pick<Selection, 'project'>
  readonly rules: EventRules
  /** Unix time in milliseconds. */
  readonly now: () => Millis
}

/** `reports`: what features report with them. In one transaction; nothing is stored if no destination takes events. Each needs a `key`. */
export async function takeEvents(
  events: readonly PlatformEvent[],
  taking: EventTaking,
  reports: readonly Reports[] = [],
): Promise<void> {
  const { to, profile, onTaken } = taking.rules
  const receivedAt = taking.now()
  const received = events
    .filter(({ project, instance }) => taking.selection.project(project?.path, instance))
    .map(event => ({
      event,
      chunk: eventChunk(event, receivedAt, ofInstance(profile, event.instance)),
      to: routed(to, subjectOf(event)),
    }))
    .filter(one => one.to.length > 0)
  if (received.length + reports.length === 0) return
  await taking.runs.transact([], { events: received, reports })
  onTaken()
}
