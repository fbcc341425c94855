// What the poller and the backfill of audit events share.
import { readAuditEvent, type AuditSource, type AuditWords, type RestAuditEvent } from '../platform/rest/audit-event.ts'
import { takeEvents, type EventTaking } from '../processing/take-events.ts'
import type { CallOptions } from '../platform/rest/call.ts'
import type { PlatformClient } from '../platform/rest/client.ts'

/** How to read the audit events of one source. */
export interface AuditReading {
  readonly client: Pick<PlatformClient, 'instance' | 'auditEvents'>
  /** As it is configured. */
  readonly source: string
  readonly call: CallOptions
  /** Stores what is not in the store yet; resolves when it is. */
  readonly take: (items: readonly RestAuditEvent[]) => Promise<void>
}

/** `instance`, or a group by its number or path. */
export function sourceOf(configured: string): AuditSource {
  if (configured === 'instance') return 'instance'
  return { group: /^\d+$/.test(configured) ? Number(configured) : configured }
}

/** For people. */
export function nameOfSource(configured: string): string {
  return configured === 'instance' ? 'the instance' : `group ${configured}`
}

export function auditTaking(instance: string, words: AuditWords, taking: EventTaking): AuditReading['take'] {
  return async items =>
    takeEvents(
      items.map(item => readAuditEvent(item, instance, words)),
      taking,
    )
}
