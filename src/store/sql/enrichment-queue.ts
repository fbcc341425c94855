// What is still to be asked about runs: all but the taking, which each database does in its own way.
import { detailLevels, type EnrichmentChange, type EnrichmentQueue } from '../ports/enrichment-queue.ts'
import { number, record, text } from './columns.ts'
import type { Statements, Value } from './statements.ts'

export function enrichmentStatements(
  sql: Statements,
): Pick<EnrichmentQueue, 'defer' | 'count' | 'postpone' | 'triggerOf' | 'candidates'> {
  return {
    defer: async ({ instance, pipelineId }, ms) => {
      await sql.change(
        `UPDATE enrichment_queue SET due_at = ?1, leased = 0
         WHERE leased = 1 AND run_id = (SELECT id FROM runs WHERE instance = ?2 AND pipeline_id = ?3)`,
        [(await sql.now()) + ms, instance, pipelineId],
      )
    },
    count: async priority => {
      const rows = await sql.all(
        `SELECT count(*) FILTER (WHERE due_at <= ?1 OR leased = 1) AS due,
                count(*) FILTER (WHERE due_at > ?1 AND leased = 0) AS later FROM enrichment_queue WHERE priority = ?2`,
        [await sql.now(), priority],
      )
      return rows.map(counts)[0] ?? { due: 0, later: 0 }
    },
    postpone: async (ms, limitMs) => {
      await sql.change(
        `UPDATE runs SET enriching_until =
           CASE WHEN enriching_until + ?1 < ended_at + ?2 THEN enriching_until + ?1 ELSE ended_at + ?2 END
         WHERE id IN (SELECT run_id FROM enrichment_queue WHERE due_at <= ?3 OR leased = 1)
           AND enriching_until < ended_at + ?2`,
        [ms, limitMs, await sql.now()],
      )
    },
    triggerOf: async ({ instance, pipelineId }) => {
      const rows = await sql.all(
        `SELECT r.pipeline_id, r.project_id, t.job_id FROM triggers t JOIN runs r ON r.id = t.run_id
         WHERE t.instance = ?1 AND t.pipeline_id = ?2`,
        [instance, pipelineId],
      )
      return rows.map(trigger)[0]
    },
    candidates: async ({ instance, pipelineId }, projectId, limit) => {
      const rows = await sql.all(
        `SELECT instance, pipeline_id, project_id FROM runs
         WHERE instance = ?1 AND pipeline_id < ?2 AND attempts = '[]' AND (CAST(?3 AS bigint) IS NULL OR project_id = ?3)
           AND coalesce(status, '') NOT IN ('success', 'failed', 'canceled', 'skipped')
         ORDER BY pipeline_id DESC LIMIT ?4`,
        [instance, pipelineId, projectId ?? null, limit],
      )
      return rows.map(row => ({ key: key(row), ...project(row) }))
    },
  }
}

const counts = record({ due: number('due'), later: number('later') })
const key = record({ instance: text('instance'), pipelineId: number('pipeline_id') })
const project = record({ projectId: number('project_id') })
const trigger = record({
  pipelineId: number('pipeline_id'),
  projectId: number('project_id'),
  jobId: number('job_id'),
})

/** What a run's change writes into the queue: a statement with its values. */
export function enrichmentChange(runId: number, change: EnrichmentChange): readonly [string, Value[]] {
  if ('detail' in change) {
    const rank = detailLevels.indexOf(change.detail)
    return [askFor, [runId, change.priority, rank, change.at]]
  }
  if (change.again === undefined) return ['DELETE FROM enrichment_queue WHERE run_id = ?1 AND leased = 1', [runId]]
  const { detail, at, priority } = change.again
  return [askAgain, [runId, detailLevels.indexOf(detail), at, priority ?? null]]
}

/** The greater detail and the earlier time count; what somebody asked for anew is not hidden any longer. */
const askFor = `
  INSERT INTO enrichment_queue AS known (run_id, priority, detail, due_at, leased) VALUES (?1, ?2, ?3, ?4, 0)
  ON CONFLICT (run_id) DO UPDATE SET
    priority = CASE WHEN known.priority = 'fresh' OR excluded.priority = 'silent' THEN known.priority ELSE excluded.priority END,
    detail = CASE WHEN known.detail > excluded.detail THEN known.detail ELSE excluded.detail END,
    due_at = CASE WHEN known.due_at < excluded.due_at THEN known.due_at ELSE excluded.due_at END,
    leased = CASE WHEN known.due_at <= excluded.due_at THEN known.leased ELSE 0 END`

const askAgain = `
  UPDATE enrichment_queue SET detail = ?2, due_at = ?3, priority = coalesce(?4, priority), leased = 0
  WHERE run_id = ?1 AND leased = 1`
