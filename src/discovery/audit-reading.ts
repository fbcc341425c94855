// What the poller and the backfill of audit events share.
import { readAuditEvent, type AuditSource, type AuditWords, type RestAuditEvent } from '../platform/rest/audit-event.ts'
import { takeEvents, type EventTaking } from '../processing/take-events.ts'
import type { CallOptions } from '../platform/rest/call.ts'
import type { PlatformClient } from '../platform/rest/client.ts'
import type { ResourceId } from '../platform/rest/query.ts'

/** How to read the audit events of one source. */
export interface AuditReading {
  readonly client: Pick<PlatformClient, 'instance' | 'auditEvents'>
  /** As it is configured. */
  readonly source: string
  readonly call: CallOptions
  /** Stores what is not in the store yet; resolves when it is. */
  readonly take: (items: readonly RestAuditEvent[]) => Promise<void>
}

/** `instance`, a group by its number or path, or a project after `project:`. */
export function sourceOf(configured: string): AuditSource {
  if (configured === 'instance') return 'instance'
  const [, project] = /^project:(.*)$/.exec(configured) ?? []
  return project === undefined ? { group: idOrPath(configured) } : { project: idOrPath(project) }
}

function idOrPath(text: string): ResourceId {
  return /^\d+$/.test(text) ? Number(text) : text
}

/** For people. */
export function nameOfSource(configured: string): string {
  if (configured === 'instance') return 'the instance'
  return configured.startsWith('project:') ? configured.replace(':', ' ') : `group ${configured}`
}

export function auditTaking(instance: string, words: AuditWords, taking: EventTaking): AuditReading['take'] {
  return async items =>
    takeEvents(
      items.map(item => readAuditEvent(item, instance, words)),
      taking,
    )
}
