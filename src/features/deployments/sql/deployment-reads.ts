// Reads stored reports of deployments from SQLite and PostgreSQL: lists of deployments, and the span of a deployment's job.
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

/** Reads a deployment from its row. It checks only the essential fields, and throws DataError if they are damaged. */
export function deploymentOf({ content }: Row): Deployment {
  const deployment = storedJson<Partial<Deployment> | null>(content)
  const { instance, project, event } = deployment ?? {}
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- of a damaged row anything may be null
  const hasFacts = event === undefined || (typeof event?.facts === 'object' && event.facts !== null)
  const isWhole = typeof instance === 'string' && typeof project?.id === 'number' && hasFacts
  return isWhole ? (deployment as Deployment) : storedJson('')
}

/** Returns the span of a job, if a snapshot of the job has been reported. Events about the job are exported with this span. */
export function* jobSpanOf(instance: string, jobId: number, { damaged }: Within): Steps<JobSpan | undefined> {
  const [row] = yield ['SELECT id, content FROM deployments WHERE instance = ?1 AND job_id = ?2', [instance, jobId]]
  return damaged.row('deployments', row, one => deploymentOf(one).job?.span)
}

export interface ShownDeployment {
  readonly id: number
  readonly deployment: Deployment
  readonly view: DeploymentView
  /** When the deployment ended, or when it was last reported if it has not ended. */
  readonly at: Millis
  readonly figures?: DeploymentFigures | undefined
}

/** An environment, by its project's ID and its name. */
export interface NamedEnvironment {
  readonly instance?: string | undefined
  readonly projectId: number
  readonly environment: string
}

export function deploymentReads(reading: Reading) {
  return {
    /** Returns the deployments of a period, latest first. */
    list: async ({ since, until, ...filter }: PeriodFilter) => {
      const where = 'happened_at >= ?1 AND happened_at < ?2 AND environment IS NOT NULL'
      const query = { ...filter, where, values: [since, until], by: 'happened_at' }
      return listed(reading, 'deployments', query, shownDeployment)
    },
    /** Returns the last successful deployment of each environment, latest first. */
    current: async ({ project, limit }: Pick<PeriodFilter, 'project' | 'limit'>) =>
      listed(
        reading,
        'deployments',
        { where: isCurrent, values: [], by: 'finished_at', project, limit },
        shownDeployment,
      ),
    /** Returns the last successful deployment to one environment. If no instance is given, it is the latest one on any of them. */
    currentOf: async ({ instance, projectId, environment }: NamedEnvironment): Promise<ShownDeployment | undefined> => {
      const one = instance === undefined ? '' : 'AND instance = ?3'
      const where = `outcome = 'succeeded' AND project_id = ?1 AND environment = ?2 ${one}`
      const values = [projectId, environment, ...(instance === undefined ? [] : [instance])]
      return (await listed(reading, 'deployments', { where, values, by: 'finished_at', limit: 1 }, shownDeployment))[0]
    },
  }
}

/** The subquery finds the current deployments in one pass through the environment index, so only rows that are shown are read from the table. */
const isCurrent = `d.id IN (
  SELECT id FROM (
    SELECT id, lead(id) OVER (PARTITION BY instance, project_id, environment ORDER BY finished_at, id) AS later
    FROM deployments WHERE outcome = 'succeeded' AND environment IS NOT NULL
  ) AS succeeded WHERE later IS NULL)`

const idOf = number('id')
const happenedAt = number('happened_at')
export const figuresColumn = optional(json<DeploymentFigures>, 'figures')

/** Returns a deployment for the pages, or undefined if its reports contain nothing to show. */
export function shownDeployment(row: Row): ShownDeployment | undefined {
  const deployment = deploymentOf(row)
  const view = viewDeployment(deployment)
  return view && { id: idOf(row), deployment, view, at: happenedAt(row), figures: figuresColumn(row) }
}
