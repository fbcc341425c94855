// What a webhook event reports of a change (a merge request), a deployment or an incident. Pure.
import { changeStates, observedChange, type Change } from './change.ts'
import { knownOf } from '../../../model/versioned.ts'
import type { Millis } from '../../../model/instant.ts'
import { idOf, type PlatformEvent } from '../../../model/event.ts'
import { observedEvent, type Deployment } from './deployment.ts'
import { reportedIncident, type Incident } from './incident.ts'

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

/** Undefined for an event of another kind, and for one without project, status, or id of the deployment or its job. */
export function deploymentOfEvent(event: PlatformEvent, receivedAt: Millis): Deployment | undefined {
  const { attributes, instance, project, at = receivedAt } = event
  if (event.kind !== 'deployment' || project === undefined) return undefined
  const text = (key: string): string | undefined => attributes[key]?.toString()
  const deploymentId = idOf(event, 'deployment.id')
  const jobId = idOf(event, 'cicd.pipeline.task.run.id')
  const status = text('platform.deployment.status')
  if (status === undefined || (jobId ?? deploymentId) === undefined) return undefined
  return knownOf({
    ...{ instance, project, jobId, deploymentId },
    event: observedEvent({
      ...{ status, at },
      beganAt: status === 'running' ? at : undefined,
      environment: text('deployment.environment.name'),
      tier: text('platform.deployment.environment.tier'),
      revision: text('vcs.ref.head.revision'),
      user: text('user.name'),
    }),
  })
}

/** Undefined for any other event. An issue of another type may have been an incident before: only the store knows. */
export function incidentOfEvent(event: PlatformEvent, receivedAt: Millis): Incident | undefined {
  const { attributes, instance, project, times = {}, at = receivedAt } = event
  if (event.kind !== 'issue' || project === undefined) return undefined
  const text = (key: string): string | undefined => attributes[key]?.toString()
  const iid = idOf(event, 'platform.issue.id')
  const type = text('platform.issue.type')?.toLowerCase()
  if (type === undefined || iid === undefined) return undefined
  if (type !== 'incident') return reportedIncident({ instance, project, iid, at, state: 'retyped' })
  const action = text('platform.issue.action')
  return reportedIncident({
    ...{ instance, project, iid, at, state: text('platform.issue.state'), severity: text('platform.issue.severity') },
    openedAt: times.createdAt ?? (action === 'open' ? at : undefined),
    closedAt: times.endedAt ?? (action === 'close' ? at : undefined),
  })
}
