// Declares conditions that people may be notified about, such as a broken default branch or an expiring token. Pure.
import type { EventValue } from './event.ts'
import type { Millis } from './instant.ts'
import type { ProjectFacts } from './observation.ts'

/**
 * The conditions that notifications may be about, and the names of their messages. A condition without a `fixed` message is reported only once for
 * each subject.
 */
export const conditionKinds = {
  'default-branch': { broken: 'default_branch.broken', fixed: 'default_branch.fixed' },
  regressions: { broken: 'regression.found', fixed: 'regression.resolved' },
  deployments: { broken: 'deployment.failed', fixed: 'deployment.recovered' },
  'flaky-tests': { broken: 'test.flaky', fixed: undefined },
  'dead-letters': { broken: 'dead_letters.found', fixed: 'dead_letters.resolved' },
  tokens: { broken: 'token.expiring', fixed: 'token.replaced' },
} as const
export type ConditionKind = keyof typeof conditionKinds

/** A report that a subject, such as a default branch, is broken or has been fixed. */
export interface Condition {
  readonly kind: ConditionKind
  readonly instance: string
  readonly project?: ProjectFacts | undefined
  readonly group?: string | undefined
  /** The object that the condition is about, such as an environment. It is unique within the kind and the project. */
  readonly subject: string
  readonly state: 'broken' | 'fixed'
  /** The version of the report. Versions are compared number by number; the report with the greater version is newer. */
  readonly version: readonly number[]
  readonly at: Millis
  /** The title of the message, on one line. */
  readonly title: string
  /** Further sentences that follow the title of the message. */
  readonly text?: string | undefined
  /** The URL of a page on the platform about this condition. */
  readonly url?: string | undefined
  readonly details?: Readonly<Record<string, EventValue | undefined>> | undefined
  /** The name of a destination that must not get a message about this condition. */
  readonly except?: string | undefined
}

/** The event kind under which a message is stored. */
export const messageKind = 'notification'

/** The key of a message. All messages about one subject share the same first `keyPrefix` characters, which keeps them in order. */
export function messageKey(subject: string, id: string): string {
  return `${messageKind} ${subject} ${id}`
}
/** Number of characters in the digest of a condition's subject. */
export const digestLength = 32
export const keyPrefix = messageKind.length + 1 + digestLength

export function messageIdOf(key: string): string {
  return key.slice(keyPrefix + 1)
}

/** The instance in conditions that Pipespan reports about itself. Such conditions have no project. */
export const ownInstance = 'pipespan'

/**
 * A notification about an expiring token is sent this many ms before the token expires. The platform reports the expiry 60, 30, 7 and 1 days ahead,
 * but the first two reports are too early to act on.
 */
export const tokenNotice = 7 * 86_400_000

export function nameOf({ path, name, id }: ProjectFacts): string {
  return path ?? name ?? String(id)
}

/** The URL of a page below a project's page on the platform. */
export function addressBelow(instance: string, { webUrl, path }: ProjectFacts, rest: string): string | undefined {
  const project = webUrl?.replace(/\/+$/, '') ?? (path === undefined ? undefined : `${instance}/${path}`)
  return project === undefined ? undefined : `${project}/-/${rest}`
}
