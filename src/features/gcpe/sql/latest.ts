// Reads runs, their versions (which show whether a run has changed) and deployments from SQLite and PostgreSQL. All rows are read by primary key, so
// no further index is needed: `newest.ts` caches which row is the newest, and reads only the rows added since.
import { loadRuns } from '../../../core/store/sql/run-reads.ts'
import { number, optional, record, text, type Row } from '../../../core/store/sql/columns.ts'
import { placeholders, type Statements } from '../../../core/store/sql/statements.ts'
import { storedChunk } from '../../../core/store/sql/stored-json.ts'
import { shownDeployment, type ShownDeployment } from '../../deployments/port.ts'
import type { JobInside } from '../../../model/inside.ts'
import type { Millis } from '../../../model/instant.ts'
import type { StoredRun } from '../../../core/store/ports/runs.ts'

/** The fields that decide whether a run is the newest of its ref. */
export interface ListedRun {
  /** The id of the run's row. */
  readonly id: number
  readonly instance: string
  readonly projectId: number
  readonly pipelineId: number
  /** The ref of the run. Both `ref` and `source` are empty if they are unknown. */
  readonly ref: string
  readonly source: string
}

export interface LatestRuns {
  /** Returns runs whose rows were added after the row with the id `after`, in the order of their ids. */
  after(after: number, limit: number): Promise<readonly ListedRun[]>
  /** Returns the version of each run. It changes when the run, its jobs, or anything read about its jobs changes. A deleted run has no version. */
  versions(ids: readonly number[]): Promise<ReadonlyMap<number, string>>
  /** Returns runs with their jobs by the ids of their rows. Damaged and deleted runs are left out. */
  byId(ids: readonly number[]): Promise<ReadonlyMap<number, StoredRun>>
  /** Returns the totals of the test reports of at most `limit` jobs of a run, in the order in which the reports were read. */
  testTotals(id: number, limit: number): Promise<readonly JobInside[]>
}

const selectRunsAfter = `
  SELECT run_id, instance, project_id, pipeline_id, ref, source FROM listed_runs WHERE run_id > ?1
  ORDER BY run_id LIMIT ?2`

/** The `LIKE` condition skips chunks that contain logs or only further failures, because only the first chunk of a report has its totals. */
const selectTests = `
  SELECT id, content FROM chunks
  WHERE run_id = ?1 AND inside IS NOT NULL AND content LIKE '%,"tests":{"summary":%' ORDER BY attempt, number LIMIT ?2`

export function latestRuns({ all, damaged }: Statements): LatestRuns {
  return {
    after: async (after, limit) => (await all(selectRunsAfter, [after, limit])).map(listedRun),
    versions: async ids => {
      if (ids.length === 0) return new Map()
      const rows = await all(
        `SELECT id, changed_at, due_at, attempts, (SELECT count(*) FROM chunks c WHERE c.run_id = r.id) AS chunks
         FROM runs r WHERE id IN (${placeholders(ids)})`,
        ids,
      )
      return new Map(
        rows.map(row => [idOf(row), `${changedAt(row)} ${String(row.due_at)} ${attempts(row)} ${chunks(row)}`]),
      )
    },
    byId: async ids => loadRuns(all, damaged, ids),
    testTotals: async (id, limit) =>
      damaged.rows('chunks', await all(selectTests, [id, limit]), row => storedChunk(row.content).inside),
  }
}

const idOf = number('id')
const changedAt = number('changed_at')
const attempts = number('attempts')
const chunks = number('chunks')

const listedRun: (row: Row) => ListedRun = record({
  id: number('run_id'),
  instance: text('instance'),
  projectId: number('project_id'),
  pipelineId: number('pipeline_id'),
  ref: text('ref'),
  source: text('source'),
})

/** The fields that decide whether a deployment is the newest of its environment. */
export interface ListedDeployment {
  readonly id: number
  readonly instance: string
  readonly projectId: number
  /** The environment of the deployment; undefined if it is not known yet. */
  readonly environment?: string | undefined
  readonly at: Millis
}

export interface LatestDeployments {
  /** Returns deployments whose rows were added after the row with the id `after`, in the order of their ids. */
  after(after: number, limit: number): Promise<readonly ListedDeployment[]>
  /** Returns deployments by the ids of their rows. Damaged and deleted deployments are left out. */
  byId(ids: readonly number[]): Promise<readonly ShownDeployment[]>
}

const selectDeploymentsAfter = `
  SELECT id, instance, project_id, environment, happened_at FROM deployments WHERE id > ?1 ORDER BY id LIMIT ?2`

export function latestDeployments({ all, damaged }: Statements): LatestDeployments {
  return {
    after: async (after, limit) => (await all(selectDeploymentsAfter, [after, limit])).map(listedDeployment),
    byId: async ids => {
      if (ids.length === 0) return []
      const rows = await all(`SELECT * FROM deployments WHERE id IN (${placeholders(ids)})`, ids)
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
