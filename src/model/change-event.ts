// What a webhook event reports of a change (a merge request). Pure.
import { changeStates, observedChange, type Change } from './change.ts'
import { knownOf } from './versioned.ts'
import type { Millis } from './instant.ts'
import { idOf, type PlatformEvent } from './event.ts'

/** `approval`: one person approved. `approved`: it has all approvals that it needs. */
const approvals: ReadonlySet<string> = new Set(['approval', 'approved'])
/** Actions that change its state. */
const transitions: ReadonlySet<string> = new Set(['open', 'reopen', 'close', 'merge'])

/** Undefined for an event of another kind, and for one without project, number or state. */
export function changeOfEvent(event: PlatformEvent, receivedAt: Millis): Change | undefined {
  const { attributes, instance, project, times = {}, at = receivedAt } = event
  if (event.kind !== 'change' || project === undefined) return undefined
  const text = (key: string): string | undefined => attributes[key]?.toString()
  const iid = idOf(event, 'vcs.change.id')
  const state = changeStates.find(one => one === text('vcs.change.state'))
  if (iid === undefined || state === undefined) return undefined
  const action = text('platform.vcs.change.action') ?? ''
  const createdAt = times.createdAt
  return knownOf({
    ...{ instance, project, iid, createdAt },
    event: observedChange(
      {
        state,
        title: text('vcs.change.title'),
        head: text('vcs.ref.head.name'),
        base: text('vcs.ref.base.name'),
      },
      at,
    ),
    isWhole: action === 'open' || undefined,
    stateAt: transitions.has(action) ? (action === 'open' ? (createdAt ?? at) : at) : createdAt,
    approvedAt: approvals.has(action) ? at : undefined,
    mergedAt:
      action === 'merge' || state === 'merged' ? (times.endedAt ?? (action === 'merge' ? at : undefined)) : undefined,
  })
}
