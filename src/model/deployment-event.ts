// What a webhook event reports of a deployment. Pure.
import { knownOf } from './versioned.ts'
import { observedEvent, type Deployment } from './deployment.ts'
import type { Millis } from './instant.ts'
import type { PlatformEvent } from './event.ts'

/** What an event of a deployment reports; undefined for any other, and for one that cannot be known again. */
export function deploymentOfEvent(event: PlatformEvent, receivedAt: Millis): Deployment | undefined {
  const { attributes, instance, project, at = receivedAt } = event
  if (event.kind !== 'deployment' || project === undefined) return undefined
  const text = (key: string): string | undefined => attributes[key]?.toString()
  const deploymentId = idOf(text('deployment.id'))
  const jobId = idOf(text('cicd.pipeline.task.run.id'))
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

function idOf(text: string | undefined): number | undefined {
  const id = Number(text)
  return text !== undefined && Number.isSafeInteger(id) && id > 0 ? id : undefined
}
