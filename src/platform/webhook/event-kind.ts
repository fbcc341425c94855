// The kind of a webhook delivery, by its event header, else by its body.
import { itemCount } from './wire-items.ts'

/** Kinds that become observations of pipelines. */
const wanted = ['pipeline', 'job'] as const

/** Other known kinds. `system`: an event of the whole instance without a kind of its own. */
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

/** A closed set, so that it can be counted. `unknown`: not known to this version. */
export type EventKind = (typeof wanted)[number] | (typeof others)[number] | 'unknown'

export const allEventKinds: readonly EventKind[] = [...wanted, ...others, 'unknown']

const kinds: ReadonlySet<string> = new Set([...wanted, ...others])

/** True for the kinds that always go to the inbox. */
export function isPipelineOrJob(kind: EventKind): kind is 'pipeline' | 'job' {
  return kind === 'pipeline' || kind === 'job'
}

/**
 * The kind that an event header names (`Pipeline Hook`, `Job Hook`, …). Undefined if the body must decide: `System Hook` covers many kinds, a relay
 * may have lost the header, and a platform may display other names than `… Hook`.
 */
export function eventKindOfHeader(event: string | undefined): EventKind | undefined {
  const [, name] = /^(.+) hook$/.exec(event?.trim().toLowerCase() ?? '') ?? []
  return name === undefined || name === 'system' ? undefined : named(name.replaceAll(' ', '_'))
}

/** By `object_kind`, else `event_name`, else the fields of the body. */
export function eventKindOfBody(body: unknown): EventKind {
  if (!isRecord(body)) return 'unknown'
  const { object_kind: objectKind, event_name: eventName, object_attributes: attributes, builds, jobs } = body
  if (typeof objectKind === 'string') return named(objectKind)
  if (typeof eventName === 'string') {
    const kind = named(eventName)
    return kind === 'unknown' ? kindOfName(eventName) : kind
  }
  if (isRecord(attributes) && (itemCount(builds) ?? itemCount(jobs)) !== undefined) return 'pipeline'
  return 'build_id' in body && 'build_status' in body ? 'job' : 'unknown'
}

/** Group and system hooks have only an `event_name` for some kinds: `user_add_to_group`, `subgroup_create`. */
function kindOfName(name: string): EventKind {
  if (/^user_\w+_(?:group|team)$/.test(name)) return 'member'
  return name.startsWith('subgroup_') ? 'subgroup' : name.startsWith('project_') ? 'project' : 'system'
}

/** The platform still calls a job a build in some places. */
function named(name: string): EventKind {
  if (name === 'build') return 'job'
  return kinds.has(name) ? (name as EventKind) : 'unknown'
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
