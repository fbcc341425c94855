// What is still to be asked about runs, on PostgreSQL.
import { detailLevels, type EnrichmentQueue, type EnrichmentChange } from '../ports/enrichment-queue.ts'
import { enrichmentChange, enrichmentStatements } from '../sql/enrichment-queue.ts'
import { placed, postgresStatements } from './statements.ts'
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
    ...enrichmentStatements(postgresStatements(db)),
  }
}

/** Part of the changes of runs. */
export async function changeAsking(
  session: Session,
  changes: readonly { readonly runId: number; readonly change: EnrichmentChange | undefined }[],
): Promise<void> {
  for (const { runId, change } of changes) {
    if (change === undefined) continue
    const [sql, values] = enrichmentChange(runId, change)
    await session.query(placed(sql), values)
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
