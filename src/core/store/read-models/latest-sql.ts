// The SQL of the newest pipelines, for both databases. All of it is found by primary keys.
import { number, record, text, type Row } from '../sql/columns.ts'
import { places, type Statements } from '../sql/statements.ts'
import { loadRuns } from '../sql/run-reads.ts'
import { storedChunk } from '../sql/stored-json.ts'
import type { Latest, ListedRun } from '../ports/latest.ts'

const selectRuns = `
  SELECT run_id, instance, project_id, pipeline_id, ref, source FROM listed_runs WHERE run_id > ?1
  ORDER BY run_id LIMIT ?2`

/** `LIKE` skips the chunks of logs and of further failures: only the first chunk of a report has its totals. */
const selectTests = `
  SELECT id, content FROM chunks
  WHERE run_id = ?1 AND inside IS NOT NULL AND content LIKE '%,"tests":{"summary":%' ORDER BY attempt, number LIMIT ?2`

export function latestOn({ all, damaged }: Statements): Latest {
  return {
    runsAfter: async (after, limit) => (await all(selectRuns, [after, limit])).map(listedRun),
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
    runs: async ids => loadRuns(all, damaged, ids),
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
