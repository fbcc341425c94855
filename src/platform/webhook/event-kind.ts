// Determines the kind of a webhook delivery. The body takes precedence, because the names in the event header differ between platforms and relays.
// The header is used if the body names no kind.

/** Delivery kinds that become pipeline observations. */
const wanted = ['pipeline', 'job'] as const

/** All other known delivery kinds. `system`: an event of the whole instance that has no kind of its own. */
const others = [
  'push',
  'tag_push',
  'issue',
  'confidential_issue',
  'work_item',
  'note',
  'confidential_note',
  'merge_request',
  'wiki_page',
  'deployment',
  'feature_flag',
  'release',
  'milestone',
  'emoji',
  'access_token',
  'resource_access_token',
  'member',
  'subgroup',
  'project',
  'vulnerability',
  'repository_update',
  'system',
] as const

/** The kind of a delivery. The set is closed, so that each kind can be counted. `unknown`: a kind that this version does not know. */
export type EventKind = (typeof wanted)[number] | (typeof others)[number] | 'unknown'

export const allEventKinds: readonly EventKind[] = [...wanted, ...others, 'unknown']

const kinds: ReadonlySet<string> = new Set([...wanted, ...others])

/** A delivery that the daemon accepts but does not store. */
export const harmlessDelivery = { event: 'Push Hook', body: '{"object_kind":"push"}' }

/** True for pipeline and job events, which are always accepted. */
export function isPipelineOrJob(kind: EventKind): kind is 'pipeline' | 'job' {
  return kind === 'pipeline' || kind === 'job'
}

/**
 * Returns the kind that an event header names (`Pipeline Hook`, `Job Hook`, …). Undefined if it names none: `System Hook` covers many kinds, a relay
 * may have dropped the header, and a platform may use other names than `… Hook`.
 */
export function eventKindOfHeader(event: string | undefined): EventKind | undefined {
  const [, name] = /^(.+) hook$/.exec(event?.trim().toLowerCase() ?? '') ?? []
  return name === undefined || name === 'system' ? undefined : kindNamed(name.replaceAll(' ', '_'))
}

/**
 * Returns the kind of a delivery. The header is used if the body names no kind. It is also used for confidential issues and notes, because their
 * bodies name the same kind as those of other issues and notes.
 */
export function eventKindOf(named: EventKind | undefined, body: unknown): EventKind {
  return eitherKind(named, eventKindOfBody(body))
}

function eitherKind(named: EventKind = 'unknown', ofBody: EventKind): EventKind {
  if (named === 'unknown') return ofBody
  return ofBody === 'unknown' || ofBody === 'system' || named === `confidential_${ofBody}` ? named : ofBody
}

/** Maximum size of a body that is parsed to determine its kind, bytes. */
const maxParsed = 64 * 1024
/** Matches the kind at the beginning of a body, where the platform writes it. */
const kindFirst = /^(?:\xef\xbb\xbf)?\s*\{\s*"object_kind"\s*:\s*"(\w{1,64})"/

/** Returns the kind of a delivery before it is processed. Returns undefined if determining it would require parsing a large body. */
export function quickEventKind(named: EventKind, body: Uint8Array): EventKind | undefined {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 1_024)).toString('latin1')
  const [, first] = kindFirst.exec(head) ?? []
  if (first !== undefined) return eitherKind(named, kindNamed(first))
  if (body.length > maxParsed) return undefined
  try {
    return eventKindOf(named, JSON.parse(new TextDecoder().decode(body)))
  } catch {
    return named
  }
}

/**
 * Returns the kind that `object_kind` names. Without `object_kind`, the kind that `event_name` names, or else the kind that the fields of the body
 * indicate.
 */
export function eventKindOfBody(body: unknown): EventKind {
  if (!isRecord(body)) return 'unknown'
  const { object_kind: objectKind, event_name: eventName, object_attributes: attributes, builds, jobs } = body
  if (typeof objectKind === 'string') return kindNamed(objectKind)
  if (typeof eventName === 'string') {
    const kind = kindNamed(eventName)
    return kind === 'unknown' ? kindOfName(eventName) : kind
  }
  if (isRecord(attributes) && (Array.isArray(builds) || Array.isArray(jobs))) return 'pipeline'
  return 'build_id' in body && 'build_status' in body ? 'job' : 'unknown'
}

/**
 * Returns the kind for an `event_name`, the only field that names the kind in some group and system hooks: `user_add_to_group`, `subgroup_create`.
 */
function kindOfName(name: string): EventKind {
  if (/^user_\w+_(?:group|team)$/.test(name)) return 'member'
  return name.startsWith('subgroup_') ? 'subgroup' : name.startsWith('project_') ? 'project' : 'system'
}

/** Returns the kind with this name. In some places the platform still calls a job a build. */
function kindNamed(name: string): EventKind {
  if (name === 'build') return 'job'
  return kinds.has(name) ? (name as EventKind) : 'unknown'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
