// Runs with what shows that they changed, for both databases. All of it is found by primary keys: which run is the newest of its ref is for the reader
// to remember, who asks for the rows that were added since, so no index has to be kept for it.
import { loadRuns } from '../../../core/store/sql/run-reads.ts'
import { number, record, text, type Row } from '../../../core/store/sql/columns.ts'
import { places, type Statements } from '../../../core/store/sql/statements.ts'
import { storedChunk } from '../../../core/store/sql/stored-json.ts'
import type { JobInside } from '../../../model/inside.ts'
import type { StoredRun } from '../../../core/store/ports/runs.ts'

/** What says whether a run is the newest of its ref. */
export interface ListedRun {
  /** The id of its row. */
  readonly id: number
  readonly instance: string
  readonly projectId: number
  readonly pipelineId: number
  /** Empty if unknown, as is the source. */
  readonly ref: string
  readonly source: string
}

export interface LatestRuns {
  /** Runs whose row was added after the row `after`, in the order of their rows. */
  after(after: number, limit: number): Promise<readonly ListedRun[]>
  /** Texts that change when a run, its jobs or what was read about these change. Runs that are gone have none. */
  versions(ids: readonly number[]): Promise<ReadonlyMap<number, string>>
  /** By the ids of their rows, with their jobs; without those that are damaged or gone. */
  byId(ids: readonly number[]): Promise<ReadonlyMap<number, StoredRun>>
  /** The totals of the test reports of a run's jobs, in the order in which they were read; of at most `limit` jobs. */
  testTotals(id: number, limit: number): Promise<readonly JobInside[]>
}

const selectAfter = `
  SELECT run_id, instance, project_id, pipeline_id, ref, source FROM listed_runs WHERE run_id > ?1
  ORDER BY run_id LIMIT ?2`

/** `LIKE` skips the chunks of logs and of further failures: only the first chunk of a report has its totals. */
const selectTests = `
  SELECT id, content FROM chunks
  WHERE run_id = ?1 AND inside IS NOT NULL AND content LIKE '%,"tests":{"summary":%' ORDER BY attempt, number LIMIT ?2`

export function latestRuns({ all, damaged }: Statements): LatestRuns {
  return {
    after: async (after, limit) => (await all(selectAfter, [after, limit])).map(listedRun),
    versions: async ids => {
      if (ids.length === 0) return new Map()
      const rows = await all(
        `SELECT id, changed_at, due_at, attempts, (SELECT count(*) FROM chunks c WHERE c.run_id = r.id) AS chunks
         FROM runs r WHERE id IN (${places(ids)})`,
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
