// What the poller and the backfill of audit events share.
import type { AuditEvent, AuditSource, CallOptions, PlatformClient, ResourceId } from '../../platform/port.ts'
import type { AuditOptions } from './options.ts'
import type { SharedStore } from '../../core/store/ports/store.ts'
import { takeEvents, type EventTaking } from '../../core/take-in/events.ts'

/** How to read the audit events of one source. */
export interface AuditReading {
  readonly client: Pick<PlatformClient, 'instance' | 'auditEvents'>
  /** As it is configured. */
  readonly source: string
  readonly call: CallOptions
  /** Stores what is not in the store yet; resolves when it is. */
  readonly take: (items: readonly AuditEvent[]) => Promise<void>
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

export function auditTaking(taking: EventTaking): AuditReading['take'] {
  return async items =>
    takeEvents(
      items.map(({ event }) => event),
      taking,
    )
}

/** The client, reading with the addresses of users if they are exported. */
export function auditClient(client: PlatformClient, { auditAddress }: AuditOptions): AuditReading['client'] {
  return {
    instance: client.instance,
    auditEvents: (source, query, call) => client.auditEvents(source, { ...query, withAddress: auditAddress }, call),
  }
}

/** True while the store has reached its limit. */
export function fullnessOf({ pruning }: Pick<SharedStore, 'pruning'>): () => Promise<boolean> {
  return async () => (await pruning.fullness()) >= 1
}
