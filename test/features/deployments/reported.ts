// Deployments as webhooks and pipelines report them.
import { countedStep } from '../../../src/features/deployments/line-step.ts'
import { event } from '../../core/store/events-exercise.ts'
import { rules } from '../../flow/world.ts'
import type { PlatformEvent } from '../../../src/model/event.ts'

/** What deployments, changes and incidents take from the line. */
export const counted = countedStep({ afterEvent: 0, afterSnapshot: rules.deadline })

/** An event of the deployment that a job of the pipeline made. */
export function deploymentEvent(
  id: number,
  status: string,
  when: number,
  jobId: number | null = id * 10,
): PlatformEvent {
  return event(`${id} ${status}`, {
    kind: 'deployment',
    name: 'platform.deployment',
    at: when,
    attributes: {
      'deployment.id': String(id),
      'deployment.environment.name': 'production',
      'platform.deployment.status': status,
      ...(jobId !== null && { 'cicd.pipeline.task.run.id': String(jobId) }),
    },
    object: `deployment ${id}`,
    key: `deployment ${id} ${status}`,
  })
}
