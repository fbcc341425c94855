// The table of vendor names; no other code knows them.
import { collectors } from './inventory/collectors.ts'
import { eventWords } from './webhook/event-selection.ts'

import type { CollectorHead } from './inventory/collector.ts'

export interface Profile {
  readonly name: ProfileName
  /** Prefix of the vendor's own attributes, with its dot. */
  readonly namespace: string
  /** Value of `vcs.provider.name`. */
  readonly provider: string
  /** Prefix of the webhook headers, with its dash. */
  readonly headerPrefix: string
  /** Names of the two CI/CD variables. */
  readonly variables: { readonly export: string; readonly token: string }
  /** The words that select its webhook events. */
  readonly events: readonly string[]
  /** What the inventory can collect. */
  readonly inventory: readonly CollectorHead[]
}

export type ProfileName = 'generic' | 'gitlab'

export const profiles: Readonly<Record<ProfileName, Profile>> = {
  generic: {
    name: 'generic',
    namespace: 'platform.',
    provider: 'platform',
    headerPrefix: 'X-Service-',
    variables: { export: 'SERVICE_OBSERVABILITY_EXPORT', token: 'SERVICE_OBSERVABILITY_TOKEN' },
    events: eventWords,
    inventory: collectors,
  },
  gitlab: {
    name: 'gitlab',
    namespace: 'gitlab.',
    provider: 'gitlab',
    headerPrefix: 'X-Gitlab-',
    variables: { export: 'GITLAB_OBSERVABILITY_EXPORT', token: 'GITLAB_OBSERVABILITY_TOKEN' },
    events: eventWords,
    inventory: collectors,
  },
}

/** What comes after the prefix of a webhook header. */
export type HookHeader = 'Event' | 'Token' | 'Instance' | 'Event-UUID' | 'Webhook-UUID'

/** Headers as Node's HTTP server gives them: names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * A webhook header's value; undefined if it is absent or blank. All vendors' prefixes are accepted, the profile's own first: a renamed platform may
 * keep its old headers.
 */
export function headerOf(headers: Headers, header: HookHeader, profile: Profile): string | undefined {
  for (const name of spellings(header, profile)) {
    const value = headers[name]
    const first = typeof value === 'string' ? value : value?.[0]
    if (first !== undefined && first.trim() !== '') return first
  }
  return undefined
}

/** In lower case, the profile's own first. Cached, as each delivery needs four headers. */
function spellings(header: HookHeader, profile: Profile): readonly string[] {
  const own = known.get(profile) ?? new Map<HookHeader, readonly string[]>()
  const names =
    own.get(header) ??
    [...new Set([profile, ...Object.values(profiles)])].map(({ headerPrefix }) => (headerPrefix + header).toLowerCase())
  known.set(profile, own.set(header, names))
  return names
}

const known = new WeakMap<Profile, Map<HookHeader, readonly string[]>>()
