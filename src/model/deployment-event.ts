// What a webhook event reports of a deployment. Pure.
import { knownOf } from './versioned.ts'
import { observedEvent, type Deployment } from './deployment.ts'
import type { Millis } from './instant.ts'
import { idOf, type PlatformEvent } from './event.ts'

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
