// Deployments, for both databases, found by primary keys as runs are (`latest-runs.ts`).
import { number, optional, record, text, type Row } from '../../../core/store/sql/columns.ts'
import { places, type Statements } from '../../../core/store/sql/statements.ts'
import { shownDeployment, type ShownDeployment } from '../../deployments/port.ts'
import type { Millis } from '../../../model/instant.ts'

/** What says whether a deployment is the newest of its environment. */
export interface ListedDeployment {
  readonly id: number
  readonly instance: string
  readonly projectId: number
  /** Undefined if it is not known yet. */
  readonly environment?: string | undefined
  readonly at: Millis
}

export interface LatestDeployments {
  /** Deployments whose row was added after the row `after`, in the order of their rows. */
  after(after: number, limit: number): Promise<readonly ListedDeployment[]>
  /** Deployments by the ids of their rows; without those that are damaged or gone. */
  byId(ids: readonly number[]): Promise<readonly ShownDeployment[]>
}

const selectAfter = `
  SELECT id, instance, project_id, environment, happened_at FROM deployments WHERE id > ?1 ORDER BY id LIMIT ?2`

export function latestDeployments({ all, damaged }: Statements): LatestDeployments {
  return {
    after: async (after, limit) => (await all(selectAfter, [after, limit])).map(listedDeployment),
    byId: async ids => {
      if (ids.length === 0) return []
      const rows = await all(`SELECT * FROM deployments WHERE id IN (${places(ids)})`, ids)
      return damaged.rows('deployments', rows, shownDeployment)
    },
  }
}

const listedDeployment: (row: Row) => ListedDeployment = record({
  id: number('id'),
  instance: text('instance'),
  projectId: number('project_id'),
  environment: optional(text, 'environment'),
  at: number('happened_at'),
})
