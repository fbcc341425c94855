// The events that the timeline shows: the few that people look for after a change. Most are only exported. Pure.
import type { PlatformEvent } from './event.ts'

/** The timeline also shows deployments, from their own table. */
export const shownKinds = ['merge', 'release', 'flag', 'incident', 'audit'] as const
export type ShownKind = (typeof shownKinds)[number]

const incidentActions: ReadonlySet<unknown> = new Set(['open', 'close', 'reopen'])

/** Undefined: it is not shown. */
export function shownAs({ kind, attributes }: Pick<PlatformEvent, 'kind' | 'attributes'>): ShownKind | undefined {
  switch (kind) {
    case 'change':
      return attributes['platform.vcs.change.action'] === 'merge' ? 'merge' : undefined
    case 'release':
      return 'release'
    case 'feature_flag':
      return 'flag'
    case 'issue':
      return String(attributes['platform.issue.type']).toLowerCase() === 'incident' &&
        incidentActions.has(attributes['platform.issue.action'])
        ? 'incident'
        : undefined
    case 'audit':
      return 'audit'
    default:
      return undefined
  }
}
