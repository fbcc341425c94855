// Reads the stored reports of deployments, for both databases: lists of deployments, and the span of a deployment's job.
import { json, number, optional, type Row } from '../../../core/store/sql/columns.ts'
import { listed } from './counted.ts'
import { storedJson } from '../../../core/store/sql/stored-json.ts'
import { viewDeployment, type Deployment, type DeploymentView } from '../model/deployment.ts'
import type { DeploymentFigures } from '../model/deployment-figures.ts'
import type { JobSpan } from '../../../model/trace-context.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PeriodFilter } from '../../../core/store/ports/project-scope.ts'
import type { Reading } from '../../../core/store/sql/reading.ts'
import type { Steps, Within } from '../../../core/store/sql/steps.ts'

/** A deployment; only its essential fields are checked. Throws DataError. */
export function deploymentOf({ content }: Row): Deployment {
  const deployment = storedJson<Partial<Deployment> | null>(content)
  const { instance, project, event } = deployment ?? {}
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- of a damaged row anything may be null
  const hasFacts = event === undefined || (typeof event?.facts === 'object' && event.facts !== null)
  const isWhole = typeof instance === 'string' && typeof project?.id === 'number' && hasFacts
  return isWhole ? (deployment as Deployment) : storedJson('')
}

/** The job's span, if a snapshot has reported it. An event about the job is sent with it. */
export function* jobSpanOf(instance: string, jobId: number, { damaged }: Within): Steps<JobSpan | undefined> {
  const [row] = yield ['SELECT id, content FROM deployments WHERE instance = ?1 AND job_id = ?2', [instance, jobId]]
  return damaged.row('deployments', row, one => deploymentOf(one).job?.span)
}

/** A deployment as pages show it. */
export interface ShownDeployment {
  readonly id: number
  readonly deployment: Deployment
  readonly view: DeploymentView
  /** Its end, or when it was last reported. */
  readonly at: Millis
  readonly figures?: DeploymentFigures | undefined
}

export function deploymentReads(reading: Reading) {
  return {
    /** The deployments of a period, the latest first. */
    list: async ({ since, until, ...filter }: PeriodFilter) => {
      const where = 'happened_at >= ?1 AND happened_at < ?2 AND environment IS NOT NULL'
      const query = { ...filter, where, values: [since, until], by: 'happened_at' }
      return listed(reading, 'deployments', query, shownDeployment)
    },
    /** The last success of each environment, the latest first. */
    current: async ({ project, limit }: Pick<PeriodFilter, 'project' | 'limit'>) =>
      listed(
        reading,
        'deployments',
        { where: isCurrent, values: [], by: 'finished_at', project, limit },
        shownDeployment,
      ),
  }
}

/** One pass through the index of environments finds them, so only the rows that are shown are read. */
const isCurrent = `d.id IN (
  SELECT id FROM (
    SELECT id, lead(id) OVER (PARTITION BY instance, project_id, environment ORDER BY finished_at, id) AS later
    FROM deployments WHERE outcome = 'succeeded' AND environment IS NOT NULL
  ) AS succeeded WHERE later IS NULL)`

const idOf = number('id')
const happenedAt = number('happened_at')
export const figuresColumn = optional(json<DeploymentFigures>, 'figures')

/** Undefined if nothing is known that could be shown. */
export function shownDeployment(row: Row): ShownDeployment | undefined {
  const deployment = deploymentOf(row)
  const view = viewDeployment(deployment)
  return view && { id: idOf(row), deployment, view, at: happenedAt(row), figures: figuresColumn(row) }
}
