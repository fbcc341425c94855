// Extracts deployments, changes and incidents from snapshots and events as they are taken in: the deployments made by a snapshot's jobs, the change
// that a pipeline is about, and what events report about all three. The functions are pure.
import { changeOfRun, changeStates, observedChange, type Change } from './model/change.ts'
import { changeReporter } from './sql/changes.ts'
import { deploymentReporter } from './sql/deployments.ts'
import { deploymentsOfChunk, isProduction as byTier, observedEvent, type Deployment } from './model/deployment.ts'
import { idOf, type PlatformEvent } from '../../model/event.ts'
import { incidentReporter } from './sql/incidents.ts'
import { jobSpanOf } from './sql/deployment-reads.ts'
import { knownOf } from '../../model/versioned.ts'
import { reportedIncident, type Incident } from './model/incident.ts'
import { reportsBy, type LineStep } from '../../core/store/ports/reporter.ts'
import type { Millis } from '../../model/instant.ts'
import type { Reported } from './sql/counted.ts'
import type { Reports } from '../../core/store/ports/runs.ts'
import type { Run } from '../../model/run.ts'

/** The delays between a report and the counting of the reported item, ms. */
export interface CountIn {
  readonly afterEvent: number
  readonly afterSnapshot: number
  /** The delay before a change is counted for its first pipeline. If undefined, changes are not counted. */
  readonly change?: number | undefined
}

export function countedStep({ afterEvent, afterSnapshot, change }: CountIn, isProduction = byTier): LineStep {
  const one = <Of>(report: Of | undefined, countIn: number): Reported<Of>[] =>
    report === undefined ? [] : [{ report, countIn }]
  return {
    onObserved:
      change === undefined
        ? undefined
        : (run, known) => reportsBy(changeReporter, one(changeAfter(run, known), change)),
    onSnapshot: chunk =>
      reportsBy(
        deploymentReporter,
        deploymentsOfChunk(chunk).map(report => ({ report, countIn: afterSnapshot })),
      ),
    attributesOf: ({ kind, attributes }) => {
      const environment = attributes['deployment.environment.name']?.toString()
      if (kind !== 'deployment' || environment === undefined) return {}
      const tier = attributes['platform.deployment.environment.tier']?.toString()
      return { 'platform.deployment.environment.production': String(isProduction({ environment, tier })) }
    },
    jobOf: event => {
      const jobId = deploymentOfEvent(event, 0)?.jobId
      return jobId === undefined ? undefined : { jobId, spanOf: jobSpanOf }
    },
    onEvent: (event, receivedAt): Reports[] => [
      ...reportsBy(deploymentReporter, one(deploymentOfEvent(event, receivedAt), afterEvent)),
      ...reportsBy(changeReporter, one(changeOfEvent(event, receivedAt), afterEvent)),
      ...reportsBy(incidentReporter, one(incidentOfEvent(event, receivedAt), afterEvent)),
    ],
  }
}

/** Returns the change to report. A change is reported only once per pipeline, although most observations of the pipeline name it. */
function changeAfter(run: Run, known: Run | undefined): Change | undefined {
  if (run.pipeline === known?.pipeline && run.mergeRequestEvent === known?.mergeRequestEvent) return undefined
  const change = changeOfRun(run)
  const before = known && changeOfRun(known)
  if (change === undefined || before?.iid !== change.iid) return change
  // The REST API does not report that a change comes from a fork: it names the pipeline's own project as the target. Therefore a changed target
  // project is ignored if it is the pipeline's own project.
  const namesTarget = change.project.id !== before.project.id && change.project.id !== run.project.facts.id
  const isSame = change.pipeline?.createdAt === before.pipeline?.createdAt && change.trainAt === before.trainAt
  return namesTarget || !isSame ? change : undefined
}

/** Actions that approve a change. `approval`: one person approved it. `approved`: it has all the approvals that it needs. */
const approvals: ReadonlySet<string> = new Set(['approval', 'approved'])
/** Actions that change the state of a merge request. */
const transitions: ReadonlySet<string> = new Set(['open', 'reopen', 'close', 'merge'])

/** Returns the change that an event reports. Undefined for other kinds of events, and for a change without a project, number or state. */
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

/**
 * Returns the deployment that an event reports. Undefined for other kinds of events, and for an event that lacks the project, the status, or the id
 * of the deployment or its job.
 */
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

/**
 * Returns the incident that an event reports. Undefined for other kinds of events. An issue of another type may have been an incident before, but
 * only the store knows that.
 */
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
