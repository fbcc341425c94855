// Conditions of what people are notified about: a default branch is broken, a token expires. Decides which report of a condition is a message. Pure.
//
//   fixed or unknown ──(broken)──► broken: a new incident, one message ──(broken again)──► no message
//                         ▲                        │
//                         └────────(fixed)─────────┘  one message, to those that got the first one
//
// Reports have versions, and one that is not newer than the last is skipped: an old pipeline that is found late opens no incident.
import { hash } from 'node:crypto'
import type { EventChunk, EventValue } from './event.ts'
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

/** What a notification may be about, and the names of its messages. Messages without a `fixed` are sent once for each subject. */
export const conditionKinds = {
  'default-branch': { broken: 'default_branch.broken', fixed: 'default_branch.fixed' },
  regressions: { broken: 'regression.found', fixed: 'regression.resolved' },
  deployments: { broken: 'deployment.failed', fixed: 'deployment.recovered' },
  'flaky-tests': { broken: 'test.flaky', fixed: undefined },
  'dead-letters': { broken: 'dead_letters.found', fixed: 'dead_letters.resolved' },
  tokens: { broken: 'token.expiring', fixed: 'token.replaced' },
} as const
export type ConditionKind = keyof typeof conditionKinds

/** A report of a condition. */
export interface Condition {
  readonly kind: ConditionKind
  readonly instance: string
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  /** What it is about within its kind and project, such as an environment. */
  readonly subject: string
  readonly state: 'broken' | 'fixed'
  /** Compared number by number; the greater one is the newer report. */
  readonly version: readonly number[]
  readonly at: Millis
  /** One line. */
  readonly title: string
  /** Further sentences. */
  readonly text?: string | undefined
  /** An address at the platform. */
  readonly url?: string | undefined
  readonly details?: Readonly<Record<string, EventValue | undefined>> | undefined
}

/** A report, and who takes it. */
export interface RoutedCondition {
  readonly condition: Condition
  /** Names of destinations. Empty: only what is known of the condition changes. */
  readonly to: readonly string[]
  readonly profile: string
}

/** What is known of a condition. */
export interface KnownCondition {
  /** Digest of what it is about. */
  readonly subject: string
  readonly state: Condition['state']
  readonly version: readonly number[]
  /** If a message about the present incident was sent: its id, when it began, and to whom. */
  readonly incident?: { readonly id: string; readonly since: Millis; readonly to: readonly string[] } | undefined
}

export interface ConditionMessage {
  readonly chunk: EventChunk
  readonly to: readonly string[]
}

/** Identifies what a condition is about, over all kinds and instances. */
export function subjectDigest({ kind, instance, project, subject }: Condition): string {
  return digest([kind, instance, project?.id ?? null, subject])
}

/** Undefined: the report is old. */
export function afterCondition(
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

/** Attributes of a message that are not details of its condition. */
export const messageAttributes = {
  ...{ id: 'notification.id', incident: 'notification.incident', since: 'notification.since' },
  ...{ text: 'notification.text', url: 'notification.url' },
} as const

/** The kind of the events that are messages. */
export const messageKind = 'notification'

/** The key of a message: it begins with what all messages about one thing have in common, by which they are kept in order (`keyPrefix` characters). */
export function messageKey(subject: string, id: string): string {
  return `${messageKind} ${subject} ${id}`
}
const digestLength = 32
export const keyPrefix = messageKind.length + 1 + digestLength

/** The id in a message's key. */
export function messageIdOf(key: string): string {
  return key.slice(keyPrefix + 1)
}

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

/** Negative if `a` is older. */
export function compareVersions(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((one, index) => one !== b[index])
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? -Infinity)
}

function digest(of: unknown): string {
  return hash('sha256', JSON.stringify(of), 'hex').slice(0, digestLength)
}

/** What Pipespan itself reports about itself has no project, and this as its instance. */
export const ownInstance = 'pipespan'

/**
 * How long before its end a token is announced, ms. The platform reports it 60, 30, 7 and 1 days before; the first two are too early to
 * act.
 */
export const tokenNotice = 7 * 86_400_000
