// Conditions that people may be notified about: a default branch is broken, a token expires. Pure.
import type { EventValue } from './event.ts'
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
  /** The name of a destination that gets no message about it. */
  readonly except?: string | undefined
}

/** The kind of the events that are messages. */
export const messageKind = 'notification'

/** The key of a message: it begins with what all messages about one thing have in common, by which they are kept in order (`keyPrefix` characters). */
export function messageKey(subject: string, id: string): string {
  return `${messageKind} ${subject} ${id}`
}
/** Characters of a digest of what a condition is about. */
export const digestLength = 32
export const keyPrefix = messageKind.length + 1 + digestLength

/** The id in a message's key. */
export function messageIdOf(key: string): string {
  return key.slice(keyPrefix + 1)
}

/** The instance of what Pipespan reports about itself, which has no project. */
export const ownInstance = 'pipespan'

/**
 * How long before its end a token is announced, ms. The platform reports it 60, 30, 7 and 1 days before; the first two are too early to
 * act.
 */
export const tokenNotice = 7 * 86_400_000

export function nameOf({ path, name, id }: ProjectFacts): string {
  return path ?? name ?? String(id)
}

/** The address of a page of a project at the platform. */
export function addressBelow(instance: string, { webUrl, path }: ProjectFacts, rest: string): string | undefined {
  const project = webUrl?.replace(/\/+$/, '') ?? (path === undefined ? undefined : `${instance}/${path}`)
  return project === undefined ? undefined : `${project}/-/${rest}`
}
