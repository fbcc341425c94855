// The platform's audit events: the table of their attributes, which docs/EVENTS.md also shows, and the call that lists the events.
import { z } from 'zod'
import { attributesOf, cleaned, digest, type EventWords } from '../webhook/read-event.ts'
import { createTextRedaction } from '../../lib/text-redaction.ts'
import { first, id, readLongWord, shown, text, value, type EventAttribute, type Path } from '../webhook/event-fields.ts'
import { knownOf } from '../../model/versioned.ts'
import { readId, readLongText, readObject, readText, readTime, type Read, type WireObject } from '../wire-read.ts'
import { segmentOf, type Api } from './api.ts'
import type { Query } from '../port/asking.ts'
import { vendors } from '../vendor.ts'
import { wholeSeconds } from './pages.ts'
import type { AuditEvent, AuditQuery, AuditSource, PlatformClient } from '../port.ts'
import type { Millis } from '../../model/instant.ts'
import type { ProjectFacts } from '../../model/observation.ts'

/** The kind of audit events. It is selected by PIPESPAN_AUDIT, not by the options for webhook events. */
export const auditKind = 'audit'
export const auditName = 'platform.audit'

const details = 'details'
/** The fields that may name an audit event's action, most specific first. */
const actions = ['change', 'add', 'remove'] as const

export const auditAttributes: readonly EventAttribute[] = [
  id('platform.audit.id', 'id'),
  value(
    'platform.audit.type',
    'string',
    'event_type',
    "the platform's value; otherwise the object and the action, such as `project.add`, `group.change`, `user.custom`",
    typeOf,
  ),
  text('platform.audit.entity.type', 'entity_type'),
  id('platform.audit.entity.id', 'entity_id'),
  text('platform.audit.entity.path', `${details}.entity_path|entity_path`),
  text('platform.audit.target.type', `${details}.target_type|target_type`),
  shown('platform.audit.target.id', `${details}.target_id|target_id`, 'a number, or a name such as that of a branch'),
  shown('platform.audit.target.details', `${details}.target_details|target_details`),
  freeText(
    'platform.audit.change',
    actions.map(one => `${details}.${one}`).join('|'),
    'what was changed, added or removed',
  ),
  freeText('platform.audit.from', `${details}.from`),
  freeText('platform.audit.to', `${details}.to`),
  text('platform.audit.author.class', `${details}.author_class`, 'such as `User`; else an author that is not a person'),
  id('user.id', 'author_id'),
  shown('user.name', `${details}.author_name|author_name`),
]

/** The attribute for the client's address, exported only with PIPESPAN_AUDIT_ADDRESS. */
export const auditAddress: EventAttribute = text(
  'client.address',
  `${details}.ip_address|ip_address`,
  'only with `PIPESPAN_AUDIT_ADDRESS=true`',
)

/** Returns a short human-readable description: the platform's own sentence, or else the action and its object. */
export function auditBody(json: WireObject): string {
  const message = first(json, `${details}.custom_message`, readLongText)
  if (message !== undefined) return message
  const of = (field: string): string | undefined => first(json, `${details}.${field}`, readWordOrFlag)
  const action = actionOf(json)
  const subject = action === undefined ? undefined : of(action)
  if (action === undefined || subject === undefined) return typeOf(json)
  const change =
    action === 'change' ? [of('from'), of('to')].map((word, at) => word && `${['from', 'to'][at]} ${word}`) : []
  const done = { change: 'Changed', add: 'Added', remove: 'Removed' }[action]
  return [done, subject, ...change].filter(word => word !== undefined).join(' ')
}

function typeOf(json: WireObject): string {
  const given = first(json, 'event_type', readText)
  if (given !== undefined) return given
  // Only the last part of the name is used: `Service::Audit::InstanceScope` becomes `instance_scope`.
  const [entity = ''] = (first(json, 'entity_type', readText) ?? 'unknown').split('::').slice(-1)
  const word = entity.replace(/(?<=[a-z\d])(?=[A-Z])/g, '_').toLowerCase()
  return `${word}.${actionOf(json) ?? 'custom'}`
}

function actionOf(json: WireObject): (typeof actions)[number] | undefined {
  return actions.find(action => first(json, `${details}.${action}`, readWordOrFlag) !== undefined)
}

/** Reads a string, a number or a boolean as a string. */
const readWordOrFlag: Read<string> = found => (typeof found === 'boolean' ? String(found) : readLongWord(found))

function freeText(key: string, from: Path, note?: string): EventAttribute {
  return { key, type: 'string', from, note, isFree: true, read: json => first(json, from, readWordOrFlag) }
}

export interface AuditWords extends EventWords {
  /** Whether the client's address is exported. */
  readonly address: boolean
}

export const defaultAuditWords: AuditWords = {
  ...{ profile: vendors.generic, redactText: createTextRedaction([]), address: false },
}

/** The schema of an audit event. An event without an ID or a time is invalid, because it could not be deduplicated. */
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

/**
 * Reads an audit event. Its ID and time identify it: they are the same in the lists of the instance, of the event's group and of any parent group.
 */
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

export function auditCalls(
  api: Api,
  instance: string,
  words: EventWords = defaultAuditWords,
): Pick<PlatformClient, 'auditEvents'> {
  return {
    auditEvents: (source, query, call) => {
      const event = restAuditEvent(instance, { ...words, address: query.withAddress === true })
      return api.pages(auditPath(source), event, call, auditQuery(query))
    },
  }
}

function auditPath(source: AuditSource): string {
  if (source === 'instance') return '/audit_events'
  const owner = 'group' in source ? `groups/${segmentOf(source.group)}` : `projects/${segmentOf(source.project)}`
  return `/${owner}/audit_events`
}

/** Returns the query for a list of audit events, newest first, with keyset pagination. The time bounds are rounded outwards to whole seconds. */
function auditQuery({ createdAfter, createdBefore }: AuditQuery): Query {
  return {
    created_after: wholeSeconds(Math.floor(createdAfter / 1_000)),
    created_before: createdBefore === undefined ? undefined : wholeSeconds(Math.ceil(createdBefore / 1_000)),
    pagination: 'keyset',
    order_by: 'id',
    sort: 'desc',
  }
}
