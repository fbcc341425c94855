// A deployment that failed, or one after it that succeeded, as a condition that people may be notified about. Pure.
import { addressBelow, nameOf, type Condition } from '../../model/condition.ts'
import type { Deployment, IsProduction } from './model/deployment.ts'
import type { DeploymentFigures } from './model/deployment-figures.ts'

/** Environments where a failure concerns nobody but the author of a change. */
const personal: ReadonlySet<string | undefined> = new Set(['development', 'testing'])

/** `id`: of the stored deployment. Undefined for an environment of tier development or testing that is not production. */
export function ofDeployment(
  id: number,
  { instance, project, job, event }: Deployment,
  figures: DeploymentFigures,
  isProduction: IsProduction,
): Condition | undefined {
  const { environment, tier, outcome, finishedAt } = figures
  if (personal.has(tier) && !isProduction({ environment, tier })) return undefined
  const isBroken = outcome === 'failed'
  const revision = job?.revision ?? event?.facts.revision
  const user = event?.facts.user ?? job?.user
  const of = revision === undefined ? '' : ` of ${revision.slice(0, 8)}`
  return {
    ...{ kind: 'deployments', instance, project, subject: environment, at: finishedAt },
    state: isBroken ? 'broken' : 'fixed',
    version: [Math.round(finishedAt), id],
    title: `${nameOf(project)}: ${isBroken ? `a deployment to ${environment} failed` : `${environment} is deployed again`}`,
    text: `The deployment${of}${user === undefined ? '' : ` by ${user}`} ${isBroken ? 'failed' : 'succeeded'}.`,
    url: job === undefined ? undefined : addressBelow(instance, project, `jobs/${job.span.jobId}`),
    details: {
      ...{ 'deployment.environment.name': environment, 'vcs.ref.head.revision': revision, 'user.name': user },
      'cicd.pipeline.task.run.id': job && String(job.span.jobId),
    },
  }
}
