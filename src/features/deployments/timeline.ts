// Deployments on the timeline.
import { deploymentReads } from './sql/deployment-reads.ts'
import type { IsProduction } from './model/deployment.ts'
import type { ShownDeployment } from './ports/deployments.ts'
import type { TimelineItem, TimelinePart } from '../../console/timeline/timeline-part.ts'

/** `isProduction`: as configured. */
export function deploymentsOnTimeline(isProduction: IsProduction): TimelinePart {
  return {
    kind: 'deployment',
    items: async (reads, within) =>
      (await reads.on(deploymentReads).list(within)).map(one => deploymentItem(one, isProduction(one.view))),
  }
}

function deploymentItem({ deployment, view, at, figures }: ShownDeployment, isProduction: boolean): TimelineItem {
  const { instance, project, jobId, job } = deployment
  // An environment of that name needs no mark.
  const mark = isProduction && view.environment !== 'production' ? ' (production)' : ''
  const to = view.environment === undefined ? '' : ` to ${view.environment}${mark}`
  return {
    ...{ kind: 'deployment', at, instance, project: project.path, user: view.user },
    title: `Deployment${to}: ${view.status}${figures?.isRollback === true ? ', a rollback' : ''}`,
    isBad: view.outcome === 'failed',
    isProduction,
    ...{ projectId: project.id, pipelineId: job?.span.pipelineId, jobId },
  }
}
