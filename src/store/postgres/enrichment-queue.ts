// What is still to be asked about runs, on PostgreSQL.
import {
  detailLevels,
  type EnrichmentQueue,
  type EnrichmentChange,
  type DetailLevel,
} from '../ports/enrichment-queue.ts'
import { keyOf } from '../sql/run-rows.ts'
import type { Database, Session } from './database.ts'
import type { Job } from '../../model/job.ts'

export function postgresAsking(db: Database): EnrichmentQueue {
  return {
    take: async (priority, limit, holdMs) => {
      return db.transaction(async (session, now) => {
        const rows = await session.query(
          `WITH taken AS (
             UPDATE enrichment_queue SET due_at = $1::bigint, leased = 1
             WHERE run_id IN (SELECT run_id FROM enrichment_queue WHERE priority = $2 AND due_at <= $3::bigint
                              ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED)
             RETURNING run_id, detail)
           SELECT r.instance, r.pipeline_id, t.detail FROM taken t JOIN runs r ON r.id = t.run_id`,
          [now + holdMs, priority, now, limit],
        )
        return rows.map(row => ({
          key: keyOf(row),
          detail: detailLevels[row.detail as number] ?? 'details',
          takenAt: now,
        }))
      })
    },
    hold: async (keys, holdMs) => {
      if (keys.length === 0) return
      await db.transaction(async (session, now) =>
        session.query(
          `UPDATE enrichment_queue a SET due_at = $1::bigint, leased = $2 FROM runs r
           JOIN unnest($3::text[], $4::bigint[]) AS k (instance, pipeline_id)
             ON r.instance = k.instance AND r.pipeline_id = k.pipeline_id
           WHERE a.run_id = r.id AND a.leased = 1`,
          [now + holdMs, holdMs > 0 ? 1 : 0, keys.map(key => key.instance), keys.map(key => key.pipelineId)],
        ),
      )
    },
    defer: async ({ instance, pipelineId }, ms) => {
      await db.transaction(async (session, now) =>
        session.query(
          `UPDATE enrichment_queue SET due_at = $1::bigint, leased = 0
           WHERE leased = 1 AND run_id = (SELECT id FROM runs WHERE instance = $2 AND pipeline_id = $3)`,
          [now + ms, instance, pipelineId],
        ),
      )
    },
    count: async priority => {
      const [row] = await db.query(
        `SELECT count(*) FILTER (WHERE due_at <= $1::bigint OR leased = 1) AS due,
                count(*) FILTER (WHERE due_at > $1::bigint AND leased = 0) AS later FROM enrichment_queue WHERE priority = $2`,
        [await db.now(), priority],
      )
      return { due: row?.due as number, later: row?.later as number }
    },
    postpone: async (ms, limitMs) => {
      await db.transaction(async (session, now) =>
        session.query(
          `UPDATE runs SET enriching_until = least(enriching_until + $1::bigint, ended_at + $2::bigint)
           WHERE id IN (SELECT run_id FROM enrichment_queue WHERE due_at <= $3::bigint OR leased = 1)
             AND enriching_until < ended_at + $2::bigint`,
          [ms, limitMs, now],
        ),
      )
    },
    triggerOf: async key => {
      const [row] = await db.query(
        `SELECT r.pipeline_id, r.project_id, t.job_id FROM triggers t JOIN runs r ON r.id = t.run_id
         WHERE t.instance = $1 AND t.pipeline_id = $2`,
        [key.instance, key.pipelineId],
      )
      if (row === undefined) return undefined
      return {
        pipelineId: row.pipeline_id as number,
        projectId: row.project_id as number,
        jobId: row.job_id as number,
      }
    },
    candidates: async (key, projectId, limit) => {
      const rows = await db.query(
        `SELECT instance, pipeline_id, project_id FROM runs
         WHERE instance = $1 AND pipeline_id < $2 AND attempts = '[]' AND ($3::bigint IS NULL OR project_id = $3)
           AND coalesce(status, '') NOT IN ('success', 'failed', 'canceled', 'skipped')
         ORDER BY pipeline_id DESC LIMIT $4`,
        [key.instance, key.pipelineId, projectId ?? null, limit],
      )
      return rows.map(row => ({ key: keyOf(row), projectId: row.project_id as number }))
    },
  }
}

/** Part of the changes of runs. */
export async function changeAsking(
  session: Session,
  changes: readonly { readonly runId: number; readonly change: EnrichmentChange | undefined }[],
): Promise<void> {
  for (const { runId, change } of changes) {
    if (change === undefined) continue
    if ('detail' in change) {
      await session.query(
        `INSERT INTO enrichment_queue AS a (run_id, priority, detail, due_at, leased) VALUES ($1, $2, $3, $4::bigint, 0)
         ON CONFLICT (run_id) DO UPDATE SET
           priority = CASE WHEN a.priority = 'fresh' OR excluded.priority = 'silent' THEN a.priority ELSE excluded.priority END,
           detail = greatest(a.detail, excluded.detail), due_at = least(a.due_at, excluded.due_at),
           leased = CASE WHEN a.due_at <= excluded.due_at THEN a.leased ELSE 0 END`,
        [runId, change.priority, rankOf(change.detail), change.at],
      )
    } else if (change.again === undefined) {
      await session.query('DELETE FROM enrichment_queue WHERE run_id = $1 AND leased = 1', [runId])
    } else {
      const { detail, at, priority } = change.again
      await session.query(
        `UPDATE enrichment_queue SET detail = $2, due_at = $3::bigint, priority = coalesce($4, priority), leased = 0
         WHERE run_id = $1 AND leased = 1`,
        [runId, rankOf(detail), at, priority ?? null],
      )
    }
  }
}

/** Remembers which pipelines these jobs started. */
export async function noteTriggers(
  session: Session,
  jobs: readonly { readonly runId: number; readonly instance: string; readonly job: Job }[],
): Promise<void> {
  const told = new Map(
    jobs.flatMap(({ runId, instance, job }) => {
      const child = job.record.facts.downstream?.pipelineId
      return child === undefined ? [] : [[`${instance}\n${child}`, { runId, instance, child, jobId: job.id }] as const]
    }),
  )
  if (told.size === 0) return
  const rows = [...told.values()]
  await session.query(
    `INSERT INTO triggers (instance, pipeline_id, run_id, job_id)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
     ON CONFLICT (instance, pipeline_id) DO UPDATE SET run_id = excluded.run_id, job_id = excluded.job_id`,
    [rows.map(row => row.instance), rows.map(row => row.child), rows.map(row => row.runId), rows.map(row => row.jobId)],
  )
}

function rankOf(wants: DetailLevel): number {
  return detailLevels.indexOf(wants)
}
