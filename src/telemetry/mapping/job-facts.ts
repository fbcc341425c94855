// Values derived from a job's facts: failure domain, artifact sizes, deployment status.
import { deploys } from '../../model/deployment.ts'
import { logArtifact } from '../../model/observation.ts'
import { meaningOf, type FailureMeaning } from './failure-reasons.ts'
import { DEPLOYMENT_STATUS_VALUE_FAILED, DEPLOYMENT_STATUS_VALUE_SUCCEEDED } from './semconv.ts'
import { errorTypeOf, type Outcome } from './statuses.ts'
import type { JobSnapshot } from '../../model/chunk.ts'

/** Undefined if it is no failure. */
export function failureDomainOf(outcome: Outcome): FailureMeaning['domain'] | undefined {
  return errorTypeOf(outcome) === undefined ? undefined : meaningOf(outcome.reason ?? '').domain
}

/** Bytes of all artifacts and reports, without the log; undefined if none is known. */
export function artifactsSize({ artifactSizes }: JobSnapshot): number | undefined {
  if (artifactSizes === undefined) return undefined
  const sizes = Object.entries(artifactSizes).filter(([type]) => type !== logArtifact)
  return sizes.length === 0 ? undefined : sizes.reduce((sum, [, size]) => sum + size, 0)
}

export function logSize({ artifactSizes }: JobSnapshot): number | undefined {
  return artifactSizes?.[logArtifact]
}

/** The conventions only have the two final states of a deployment. */
export function deploymentStatusOf(job: JobSnapshot): string | undefined {
  if (!deploys(job)) return undefined
  if (job.status === 'success') return DEPLOYMENT_STATUS_VALUE_SUCCEEDED
  return job.status === 'failed' ? DEPLOYMENT_STATUS_VALUE_FAILED : undefined
}
