// Parses an audit event of the platform and turns it into an event for a log record.
import { z } from 'zod'
import { auditAddress, auditAttributes, auditBody, auditKind, auditName } from './audit-table.ts'
import { attributesOf, cleaned, digest, type EventWords } from '../webhook/read-event.ts'
import { createTextRedaction } from '../../lib/text-redaction.ts'
import { vendors } from '../vendor.ts'
import { first } from '../webhook/event-fields.ts'
import { knownOf } from '../../model/versioned.ts'
import { readId, readObject, readText, readTime, type WireObject } from '../wire-read.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectFacts } from '../../model/observation.ts'
import { wholeSeconds } from './pages.ts'
import { segmentOf, type Query } from './query.ts'
import type { AuditEvent, AuditSource } from '../port.ts'

export function auditPath(source: AuditSource): string {
  if (source === 'instance') return '/audit_events'
  const owner = 'group' in source ? `groups/${segmentOf(source.group)}` : `projects/${segmentOf(source.project)}`
  return `/${owner}/audit_events`
}

/** The query of a list of audit events, newest first, with keyset pagination. The bounds are rounded outwards to whole seconds. */
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

export interface AuditWords extends EventWords {
  /** Whether the client's address is exported. */
  readonly address: boolean
}

export const defaultAuditWords: AuditWords = {
  ...{ profile: vendors.generic, redactText: createTextRedaction([]), address: false },
}

/** The schema of an audit event. An event without ID or time is invalid, because it cannot be recognised when it is read again. */
export const restAuditEvent = (instance: string, words: AuditWords) =>
  z.unknown().transform((item, context): AuditEvent => {
    const json = readObject(item)
    const id = readId(json?.id)
    const at = readTime(json?.created_at)
    if (json !== undefined && id !== undefined && at !== undefined)
      return { id, event: readEvent({ id, at, json }, instance, words) }
    for (const [field, value] of Object.entries({ id, created_at: at }))
      if (value === undefined) context.addIssue({ code: 'custom', message: 'no such value', path: [field] })
    return z.NEVER
  })

/** ID and time identify the event. They are the same in the lists of the instance, of its group and of a parent group. */
function readEvent(
  { id, at, json }: { readonly id: number; readonly at: Millis; readonly json: WireObject },
  instance: string,
  words: AuditWords,
): AuditEvent['event'] {
  const attributes = attributesOf(words.address ? [...auditAttributes, auditAddress] : auditAttributes, json, words)
  const key = digest([instance, auditKind, id, Math.floor(at / 1_000)])
  return {
    ...{ instance, kind: auditKind, name: auditName, at, severity: 'info', attributes },
    ...knownOf({ project: projectOf(json), group: groupOf(json) }),
    body: cleaned(auditBody(json), true, words.redactText),
    ...{ object: key, key, content: key },
  }
}

const entityPath = 'details.entity_path|entity_path'

function projectOf(json: WireObject): ProjectFacts | undefined {
  const id = json.entity_type === 'Project' ? readId(json.entity_id) : undefined
  return id === undefined ? undefined : { id, ...knownOf({ path: first(json, entityPath, readText) }) }
}

function groupOf(json: WireObject): string | undefined {
  return json.entity_type === 'Group' ? first(json, entityPath, readText) : undefined
}
