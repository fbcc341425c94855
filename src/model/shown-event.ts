// What an event is on the timeline: the few that people look for when something has changed. Most are nothing there: they are exported alone. Pure.
import type { PlatformEvent } from './event.ts'

/** Deployments stand beside these: what is known of them is more than their events. */
export const shownKinds = ['merge', 'release', 'flag', 'incident', 'audit'] as const
export type ShownKind = (typeof shownKinds)[number]

/** Of an incident what changes its state; of a merge request that it was merged. */
const incidentActions: ReadonlySet<unknown> = new Set(['open', 'close', 'reopen'])

/** Undefined: it does not stand there. */
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
