// The table of audit events: each row maps a field of the answer to an attribute. The reader and docs/EVENTS.md use it.
import { first, id, readLongWord, shown, text, value, type EventAttribute, type Path } from '../webhook/event-fields.ts'
import { readLongText, readText, type Read, type WireObject } from '../wire-read.ts'

/** This kind of event is selected by PIPESPAN_AUDIT, not by the options for events. */
export const auditKind = 'audit'
export const auditName = 'platform.audit'

const details = 'details'
/** The fields that name the action, most specific first. */
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

/** The client's address, which is only exported with PIPESPAN_AUDIT_ADDRESS. */
export const auditAddress: EventAttribute = text(
  'client.address',
  `${details}.ip_address|ip_address`,
  'only with `PIPESPAN_AUDIT_ADDRESS=true`',
)

/** A short text for people: the platform's own sentence, or else the action and its object. */
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
  // `Service::Audit::InstanceScope` becomes `instance_scope`.
  const [entity = ''] = (first(json, 'entity_type', readText) ?? 'unknown').split('::').slice(-1)
  const word = entity.replace(/(?<=[a-z\d])(?=[A-Z])/g, '_').toLowerCase()
  return `${word}.${actionOf(json) ?? 'custom'}`
}

function actionOf(json: WireObject): (typeof actions)[number] | undefined {
  return actions.find(action => first(json, `${details}.${action}`, readWordOrFlag) !== undefined)
}

/** Reads a word, a number or a boolean. */
const readWordOrFlag: Read<string> = found => (typeof found === 'boolean' ? String(found) : readLongWord(found))

function freeText(key: string, from: Path, note?: string): EventAttribute {
  return { key, type: 'string', from, note, isFree: true, read: json => first(json, from, readWordOrFlag) }
}
