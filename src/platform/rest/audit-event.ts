// Parses an audit event of the platform and turns it into a log record.
import { z } from 'zod'
import { auditAddress, auditAttributes, auditBody, auditKind, auditName } from './audit-table.ts'
import { cleaned, digest, type EventWords } from '../webhook/read-event.ts'
import { first } from '../webhook/event-fields.ts'
import { known } from '../known.ts'
import { readId, readObject, readText, readTime, type WireObject } from '../wire-read.ts'
import type { EventValue, PlatformEvent } from '../../model/event.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import { segmentOf, type Query, type ResourceId } from './query.ts'

/** Audit events of the whole instance, of one group with its projects, or of one project. */
export type AuditSource = 'instance' | { readonly group: ResourceId } | { readonly project: ResourceId }

export function auditPath(source: AuditSource): string {
  if (source === 'instance') return '/audit_events'
  const owner = 'group' in source ? `groups/${segmentOf(source.group)}` : `projects/${segmentOf(source.project)}`
  return `/${owner}/audit_events`
}

/** Newest first, paged by keyset. The bounds are rounded outwards to whole seconds. */
export function auditQuery(period: {
  readonly createdAfter: Millis
  readonly createdBefore?: Millis | undefined
}): Query {
  const { createdAfter, createdBefore } = period
  return {
    created_after: wholeSeconds(Math.floor(createdAfter / 1_000)),
    created_before: createdBefore === undefined ? undefined : wholeSeconds(Math.ceil(createdBefore / 1_000)),
    pagination: 'keyset',
    order_by: 'id',
    sort: 'desc',
  }
}

/** Without fractions, as the REST document writes them for audit events. */
function wholeSeconds(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

export interface RestAuditEvent {
  readonly id: number
  readonly createdAt: Millis
  /** The whole event. */
  readonly json: WireObject
}

/** An event without id or time is invalid, because it cannot be recognised again. */
export const restAuditEvent = z.unknown().transform((item, context): RestAuditEvent => {
  const json = readObject(item)
  const id = readId(json?.id)
  const createdAt = readTime(json?.created_at)
  if (json !== undefined && id !== undefined && createdAt !== undefined) return { id, createdAt, json }
  context.addIssue({ code: 'custom', message: 'no id, or no time' })
  return z.NEVER
})

export interface AuditWords extends EventWords {
  /** Whether addresses of clients are exported. */
  readonly address: boolean
}

/** Its id and time identify it. They are the same whether it was read of the instance, of its group or of a parent group. */
export function readAuditEvent(
  { id, createdAt, json }: RestAuditEvent,
  instance: string,
  words: AuditWords,
): PlatformEvent {
  const { profile, redactText, address } = words
  const attributes: Record<string, EventValue> = {}
  for (const { key, read, isFree } of address ? [...auditAttributes, auditAddress] : auditAttributes) {
    const given = read(json, profile)
    const clean = typeof given === 'string' ? cleaned(given, isFree === true, redactText) : given
    if (clean !== undefined && clean !== '') attributes[key] = clean
  }
  const key = digest([instance, auditKind, id, Math.floor(createdAt / 1_000)])
  return {
    ...{ instance, kind: auditKind, name: auditName, at: createdAt, severity: 'info', attributes },
    ...known({ project: projectOf(json), group: groupOf(json) }),
    body: cleaned(auditBody(json), true, redactText),
    ...{ object: key, key, content: key },
  }
}

const entityPath = 'details.entity_path|entity_path'

function projectOf(json: WireObject): ProjectFacts | undefined {
  const id = json.entity_type === 'Project' ? readId(json.entity_id) : undefined
  return id === undefined ? undefined : { id, ...known({ path: first(json, entityPath, readText) }) }
}

function groupOf(json: WireObject): string | undefined {
  return json.entity_type === 'Group' ? first(json, entityPath, readText) : undefined
}
