// Lists deployments, and prunes them early, for both databases.
import type { Reading } from '../../../core/store/sql/reading.ts'
import { json, number, optional, type Row } from '../../../core/store/sql/columns.ts'
import { listed } from './counted.ts'
import { places, type Statements } from '../../../core/store/sql/statements.ts'
import { viewDeployment, type Deployment, type DeploymentView } from '../model/deployment.ts'
import { storedDeployment } from './stored-deployment.ts'
import type { DeploymentFigures } from '../model/deployment-figures.ts'
import type { Millis } from '../../../model/instant.ts'
import type { PeriodFilter } from '../../../core/store/ports/project-scope.ts'

/** A deployment as pages show it. */
export interface ShownDeployment {
  readonly id: number
  readonly deployment: Deployment
  readonly view: DeploymentView
  /** Its end, or when it was last reported. */
  readonly at: Millis
  readonly figures?: DeploymentFigures | undefined
}

interface KeptEarly {
  /** Deployments before this are deleted even if they are the last of their environment. */
  readonly lastSince: Millis
  /** Deployments since then that only events have reported stay: the pipeline of their job would report them again. */
  readonly withoutJobSince: Millis
}

export function pruneEarly(sql: Statements) {
  return {
    /**
     * Deletes the next `limit`, at most, of those first reported before `before` that may be deleted early: they need not be counted (any more), and
     * their environment has a later success that was counted. `from`: the last one that the previous call has checked; `next`: undefined at the end.
     */
    pruneEarly: async (
      before: Millis,
      limit: number,
      from: number | undefined,
      { lastSince, withoutJobSince }: KeptEarly,
    ): Promise<{ readonly pruned: number; readonly next?: number | undefined }> => {
      const seen = await sql.all(selectEarly, [from ?? -1, before, lastSince, withoutJobSince, limit * lookedAt])
      const isNew = seen.findIndex(row => (knownAt(row) ?? 0) >= before)
      const old = isNew === -1 ? seen : seen.slice(0, isNew)
      const gone = old.filter(mayGo).slice(0, limit).map(idOf)
      const pruned = gone.length === 0 ? 0 : await sql.change(deleteCounted(gone), gone)
      if (gone.length === limit) return { pruned, next: gone.at(-1) }
      const last = old.length < limit * lookedAt ? undefined : old.at(-1)
      return { pruned, next: last && idOf(last) }
    },
  }
}

export function deploymentReads(reading: Reading) {
  const kind = { table: 'deployments', name: 'deployment' } as const
  return {
    /** Those within a period, the latest first. */
    list: async ({ since, until, ...filter }: PeriodFilter) => {
      const where = 'happened_at >= ?1 AND happened_at < ?2 AND environment IS NOT NULL'
      return listed(reading, kind, { ...filter, where, values: [since, until], by: 'happened_at' }, shownDeployment)
    },
    /** The last success of each environment, the latest first. */
    current: async ({ project, limit }: Pick<PeriodFilter, 'project' | 'limit'>) =>
      listed(reading, kind, { where: isCurrent, values: [], by: 'finished_at', project, limit }, shownDeployment),
  }
}

/** In one pass through the index of environments: rows are read of those alone that are shown. */
const isCurrent = `d.id IN (
  SELECT id FROM (
    SELECT id, lead(id) OVER (PARTITION BY instance, project_id, environment ORDER BY finished_at, id) AS later
    FROM deployments WHERE outcome = 'succeeded' AND environment IS NOT NULL
  ) AS succeeded WHERE later IS NULL)`
const sameEnvironment = 'l.instance = d.instance AND l.project_id = d.project_id AND l.environment = d.environment'
/** Of the environment of `d`. */
export const laterSuccess = `
  SELECT 1 FROM deployments l WHERE ${sameEnvironment} AND l.outcome = 'succeeded' AND l.finished_at > d.finished_at`

/** How many are checked for each that a step may delete: most old ones stay. */
const lookedAt = 10
/** After `?1`, in the order in which they were first reported. The report of a job has its span. */
const selectEarly = `
  SELECT id, known_at, CASE WHEN d.due_at IS NULL AND coalesce(d.known_at, d.happened_at) < ?2
    AND (coalesce(d.known_at, d.happened_at) < ?4 OR d.content LIKE '%"span":{%')
    AND (d.outcome IS NULL OR d.happened_at < ?3 OR EXISTS (${laterSuccess} AND l.counted_at IS NOT NULL)) THEN 1 ELSE 0 END AS may_go
  FROM deployments d WHERE id > ?1 ORDER BY id LIMIT ?5`

/** A deployment may have been reported again since it was found. */
function deleteCounted(ids: readonly number[]): string {
  return `DELETE FROM deployments WHERE due_at IS NULL AND id IN (${places(ids)})`
}

const idOf = number('id')
const flag = number('may_go')
const mayGo = (row: Row): boolean => flag(row) === 1
const knownAt = optional(number, 'known_at')
const content = (row: Row): Deployment => storedDeployment(row.content)
const figuresColumn = optional(json<DeploymentFigures>, 'figures')

/** Undefined if nothing is known that could be shown. */
export function shownDeployment(row: Row): ShownDeployment | undefined {
  const deployment = content(row)
  const view = viewDeployment(deployment)
  if (view === undefined) return undefined
  return { id: idOf(row), deployment, view, at: number('happened_at')(row), figures: figuresColumn(row) }
}
