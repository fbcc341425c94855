// Decides which reports of a condition cause a message. Pure.
//
//   fixed or unknown ──(broken)──► broken: a new incident, one message ──(broken again)──► no message
//                         ▲                        │
//                         └────────(fixed)─────────┘  one message, to those that got the first one
//
// Reports have versions. A report that is not newer than the last one is skipped, so an old pipeline that is found late opens no incident.
import { hash } from 'node:crypto'
import { conditionKinds, digestLength, messageKind, type Condition } from '../../model/condition.ts'
import type { EventChunk, EventValue } from '../../model/event.ts'
import type { Millis } from '../../model/instant.ts'

/** A report of a condition, with the destinations that get messages about it. */
export interface RoutedCondition {
  readonly condition: Condition
  /** The names of the destinations. If there are none, only the state of the condition changes. */
  readonly to: readonly string[]
  readonly profile: string
}

/** The stored state of a condition. */
export interface KnownCondition {
  /** A digest of the condition's subject. */
  readonly subject: string
  readonly state: Condition['state']
  readonly version: readonly number[]
  /** The id, the start and the destinations of the current incident. Set only if a message about the incident was sent. */
  readonly incident?: { readonly id: string; readonly since: Millis; readonly to: readonly string[] } | undefined
}

export interface ConditionMessage {
  readonly chunk: EventChunk
  readonly to: readonly string[]
}

/** Returns a digest that identifies a condition's subject uniquely across all kinds and instances. */
export function subjectDigest({ kind, instance, project, subject }: Condition): string {
  return digest([kind, instance, project?.id ?? null, subject])
}

/** Returns the new state of the condition, and the message if there is one. Returns undefined if the report is not newer than the known state. */
export function afterReport(
  known: KnownCondition | undefined,
  routed: RoutedCondition,
  now: Millis,
): { readonly known: KnownCondition; readonly message?: ConditionMessage | undefined } | undefined {
  const { condition } = routed
  const { state, version } = condition
  if (known !== undefined && compareVersions(version, known.version) <= 0) return undefined
  const subject = subjectDigest(condition)
  const next = { subject, state, version }
  if (state === 'broken') {
    if (known?.state === 'broken') return { known: { ...known, version } }
    if (routed.to.length === 0) return { known: next }
    const incident = { id: digest([subject, ...version]), since: condition.at, to: routed.to }
    return { known: { ...next, incident }, message: messageOf(routed, incident, routed.to, now) }
  }
  const { incident } = known ?? {}
  const to = routed.to.filter(name => incident?.to.includes(name))
  if (incident === undefined || to.length === 0) return { known: next }
  return { known: next, message: messageOf(routed, incident, to, now) }
}

/** The attributes of a message, apart from the details of its condition. */
export const messageAttributes = {
  ...{ id: 'notification.id', incident: 'notification.incident', since: 'notification.since' },
  ...{ text: 'notification.text', url: 'notification.url' },
} as const

function messageOf(
  { condition, profile }: RoutedCondition,
  { id: incident, since }: NonNullable<KnownCondition['incident']>,
  to: readonly string[],
  now: Millis,
): ConditionMessage {
  const { kind, instance, project, group, state, at, title, text, url, details = {} } = condition
  const named = messageAttributes
  const attributes: Record<string, EventValue | undefined> = {
    ...{ [named.id]: `${incident}.${state}`, [named.incident]: incident, [named.since]: since },
    ...{ [named.text]: text, [named.url]: url },
    ...details,
  }
  const known = Object.entries(attributes).filter((entry): entry is [string, EventValue] => entry[1] !== undefined)
  const chunk: EventChunk = {
    ...{ kind: 'event', key: { instance }, project, group, trace: { profile } },
    event: {
      ...{ kind: messageKind, name: conditionKinds[kind][state] ?? kind, body: title },
      severity: state === 'broken' ? 'error' : 'info',
      attributes: Object.fromEntries(known),
    },
    ...{ at, observedAt: now },
  }
  return { chunk, to }
}

/** Returns a negative number if version `a` is older than `b`, and a positive one if it is newer. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((one, index) => one !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? -Infinity)
}

function digest(of: unknown): string {
  return hash('sha256', JSON.stringify(of), 'hex').slice(0, digestLength)
}
