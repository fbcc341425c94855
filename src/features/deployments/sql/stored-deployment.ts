// Reads the stored reports of a deployment.
import { storedJson } from '../../../core/store/sql/stored-json.ts'
import type { Deployment } from '../model/deployment.ts'
import type { JobSpan } from '../../../model/trace-context.ts'
import type { Steps, Within } from '../../../core/store/sql/steps.ts'

/** A deployment; only its essential fields are checked. Throws DataError. */
export function storedDeployment(text: unknown): Deployment {
  const deployment = storedJson<Partial<Deployment> | null>(text)
  const { instance, project, event } = deployment ?? {}
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- of a damaged row anything may be null
  const hasFacts = event === undefined || (typeof event?.facts === 'object' && event.facts !== null)
  const isWhole = typeof instance === 'string' && typeof project?.id === 'number' && hasFacts
  return isWhole ? (deployment as Deployment) : storedJson('')
}

/** The job's span, if a snapshot has reported it: with it an event about the job is sent. */
export function* jobSpanOf(instance: string, jobId: number, { damaged }: Within): Steps<JobSpan | undefined> {
  const [row] = yield ['SELECT id, content FROM deployments WHERE instance = ?1 AND job_id = ?2', [instance, jobId]]
  return damaged.row('deployments', row, one => storedDeployment(one.content).job?.span)
}
