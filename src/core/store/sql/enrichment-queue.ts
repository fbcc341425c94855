// The SQL of the enrichment queue, for both databases.
import {
  detailLevels,
  type EnrichmentChange,
  type EnrichmentItem,
  type EnrichmentQueue,
} from '../ports/enrichment-queue.ts'
import { leasedQueue } from './leased-queue.ts'
import { number, optional, record, text, type Row } from './columns.ts'
import { each, forRows, type Step, type StepOf } from './steps.ts'
import { thoseIn } from './territory-sql.ts'
import { keyOf } from './run-rows.ts'
import { keyPlaces, keyValues, type Statements } from './statements.ts'
import type { Job } from '../../../model/job.ts'

export function enrichmentQueue(sql: Statements): EnrichmentQueue {
  const queue = leasedQueue(sql, 'enrichment_queue', returning(sql), 'run_id')
  return {
    take: async (priority, limit, leaseMs, which) => {
      const { rows, now } = await queue.take(limit, leaseMs, before => {
        const [where, values] = thoseIn(sql, 'run_id', which, before)
        return [`priority = '${priority}' AND ${where}`, values]
      })
      return rows.map(row => ({ key: keyOf(row), path: pathOf(row), detail: detailOf(row), takenAt: now }))
    },
    extend: async (keys, leaseMs) => {
      if (keys.length === 0) return
      const own = `run_id IN (SELECT id FROM runs WHERE (instance, pipeline_id) IN ${keyPlaces(keys)})`
      await queue.extend([own, keyValues(keys)], leaseMs)
    },
    defer: async ({ instance, pipelineId }, ms) => {
      const own = 'run_id = (SELECT id FROM runs WHERE instance = ?1 AND pipeline_id = ?2)'
      await queue.defer([`leased = 1 AND ${own}`, [instance, pipelineId]], ms)
    },
    count: async priority => {
      const rows = await sql.all(
        `SELECT count(*) FILTER (WHERE due_at <= ?1 OR leased = 1) AS due,
                count(*) FILTER (WHERE due_at > ?1 AND leased = 0) AS later FROM enrichment_queue WHERE priority = ?2`,
        [await sql.now(), priority],
      )
      return rows.map(counts)[0] ?? { due: 0, later: 0 }
    },
    postpone: async (priority, ms, limitMs, only) => {
      const [within, values] = thoseIn(sql, 'run_id', only && { only: [only] }, 4)
      await sql.change(
        `UPDATE runs SET enriching_until =
           CASE WHEN enriching_until + ?1 < ended_at + ?2 THEN enriching_until + ?1 ELSE ended_at + ?2 END
         WHERE id IN (SELECT run_id FROM enrichment_queue WHERE priority = ?4 AND (due_at <= ?3 OR leased = 1) AND ${within})
           AND enriching_until < ended_at + ?2`,
        [ms, limitMs, await sql.now(), priority, ...values],
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
         WHERE instance = ?1 AND pipeline_id < ?2 AND attempts = 0 AND (CAST(?3 AS bigint) IS NULL OR project_id = ?3)
           AND coalesce(status, '') NOT IN ('success', 'failed', 'canceled', 'skipped')
         ORDER BY pipeline_id DESC LIMIT ?4`,
        [instance, pipelineId, projectId ?? null, limit],
      )
      return rows.map(row => ({ key: keyOf(row), projectId: projectOf(row) }))
    },
  }
}

const returning = ({
  pathOfRun,
}: Statements): string => `detail, (SELECT instance FROM runs WHERE id = run_id) AS instance,
  (SELECT pipeline_id FROM runs WHERE id = run_id) AS pipeline_id, (SELECT ${pathOfRun} FROM runs WHERE id = run_id) AS path`
const pathOf = optional(text, 'path')
const counts = record({ due: number('due'), later: number('later') })
const projectOf = number('project_id')
const level = number('detail')
const detailOf = (row: Row): EnrichmentItem['detail'] => detailLevels[level(row)] ?? 'details'
const trigger = record({
  pipelineId: number('pipeline_id'),
  projectId: number('project_id'),
  jobId: number('job_id'),
})

export function enrichmentChange(runId: number, change: EnrichmentChange): StepOf {
  if ('detail' in change) {
    const rank = detailLevels.indexOf(change.detail)
    return [askFor, [runId, change.priority, rank, change.at]]
  }
  if (change.again === undefined) return ['DELETE FROM enrichment_queue WHERE run_id = ?1 AND leased = 1', [runId]]
  const { detail, at, priority } = change.again
  return [askAgain, [runId, detailLevels.indexOf(detail), at, priority ?? null]]
}

/** The higher level of detail and the earlier time win. An item that becomes due before its lease ends is not leased any more. */
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

/** If two jobs of a transaction started the same pipeline, the later one is written. */
export function writeTriggers(
  jobs: readonly { readonly runId: number; readonly instance: string; readonly job: Job }[],
): Step {
  const rows = new Map(
    jobs.flatMap(({ runId, instance, job }) => {
      const child = job.record.facts.downstream?.pipelineId
      return child === undefined ? [] : [[`${instance}\n${child}`, [instance, child, runId, job.id]] as const]
    }),
  )
  return each(insertTriggers, [...rows.values()])
}

const insertTriggers = forRows(
  ['text', 'bigint', 'bigint', 'bigint'],
  ({ rows }) => `
  INSERT INTO triggers (instance, pipeline_id, run_id, job_id) ${rows}
  ON CONFLICT (instance, pipeline_id) DO UPDATE SET run_id = excluded.run_id, job_id = excluded.job_id`,
)
