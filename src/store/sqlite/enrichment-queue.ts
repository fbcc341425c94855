// What is still to be asked about runs, on SQLite.
import {
  detailLevels,
  type EnrichmentQueue,
  type EnrichmentChange,
  type DetailLevel,
} from '../ports/enrichment-queue.ts'
import type { Database } from './database.ts'
import type { Job } from '../../model/job.ts'
import type { RunKey } from '../../model/observation.ts'

export function sqliteAsking(db: Database): EnrichmentQueue {
  const idOf = (key: RunKey): number | undefined =>
    db.prepare('SELECT id FROM runs WHERE instance = ? AND pipeline_id = ?').get(key.instance, key.pipelineId)?.id as
      number | undefined
  return {
    take: async (priority, limit, holdMs) =>
      db.transaction(() => {
        const now = db.now()
        const rows = db
          .prepare(
            `SELECT a.run_id AS id, a.detail, r.instance, r.pipeline_id FROM enrichment_queue a JOIN runs r ON r.id = a.run_id
             WHERE a.priority = ? AND a.due_at <= ? ORDER BY a.due_at LIMIT ?`,
          )
          .all(priority, now, limit)
        const hold = db.prepare('UPDATE enrichment_queue SET due_at = ?, leased = 1 WHERE run_id = ?')
        return rows.map(row => {
          hold.run(now + holdMs, row.id as number)
          return {
            key: { instance: row.instance as string, pipelineId: row.pipeline_id as number },
            detail: detailLevels[row.detail as number] ?? 'details',
            takenAt: now,
          }
        })
      }),
    hold: async (keys, holdMs) => {
      db.transaction(() => {
        const until = db.now() + holdMs
        // What somebody asked for anew meanwhile is not hidden again.
        const hold = db.prepare('UPDATE enrichment_queue SET due_at = ?, leased = ? WHERE run_id = ? AND leased = 1')
        for (const key of keys) {
          const id = idOf(key)
          if (id !== undefined) hold.run(until, holdMs > 0 ? 1 : 0, id)
        }
      })
    },
    defer: async (key, ms) => {
      db.transaction(() => {
        db.prepare('UPDATE enrichment_queue SET due_at = ?, leased = 0 WHERE run_id = ? AND leased = 1').run(
          db.now() + ms,
          idOf(key) ?? null,
        )
      })
    },
    count: async priority =>
      db
        .prepare(
          `SELECT count(*) FILTER (WHERE due_at <= ?1 OR leased = 1) AS due,
                  count(*) FILTER (WHERE due_at > ?1 AND leased = 0) AS later FROM enrichment_queue WHERE priority = ?2`,
        )
        .get(db.now(), priority) as unknown as { due: number; later: number },
    postpone: async (ms, limitMs) => {
      db.transaction(() =>
        db
          .prepare(
            `UPDATE runs SET enriching_until = min(enriching_until + ?1, ended_at + ?2)
             WHERE id IN (SELECT run_id FROM enrichment_queue WHERE due_at <= ?3 OR leased = 1)
               AND enriching_until < ended_at + ?2`,
          )
          .run(ms, limitMs, db.now()),
      )
    },
    triggerOf: async key => {
      const row = db
        .prepare(
          `SELECT r.pipeline_id, r.project_id, t.job_id FROM triggers t JOIN runs r ON r.id = t.run_id
           WHERE t.instance = ? AND t.pipeline_id = ?`,
        )
        .get(key.instance, key.pipelineId)
      if (row === undefined) return undefined
      return {
        pipelineId: row.pipeline_id as number,
        projectId: row.project_id as number,
        jobId: row.job_id as number,
      }
    },
    candidates: async (key, projectId, limit) =>
      db
        .prepare(
          `SELECT instance, pipeline_id, project_id FROM runs
           WHERE instance = ?1 AND pipeline_id < ?2 AND attempts = '[]' AND (?3 IS NULL OR project_id = ?3)
             AND coalesce(status, '') NOT IN ('success', 'failed', 'canceled', 'skipped')
           ORDER BY pipeline_id DESC LIMIT ?4`,
        )
        .all(key.instance, key.pipelineId, projectId ?? null, limit)
        .map(row => ({
          key: { instance: row.instance as string, pipelineId: row.pipeline_id as number },
          projectId: row.project_id as number,
        })),
  }
}

/** Part of a run's change. */
export function changeAsking(db: Database, runId: number, change: EnrichmentChange | undefined): void {
  if (change === undefined) return
  if ('detail' in change) {
    db.prepare(
      `INSERT INTO enrichment_queue (run_id, priority, detail, due_at, leased) VALUES (?1, ?2, ?3, ?4, 0)
       ON CONFLICT (run_id) DO UPDATE SET priority = CASE WHEN priority = 'fresh' OR ?2 = 'silent' THEN priority ELSE ?2 END,
         detail = max(detail, ?3), due_at = min(due_at, ?4), leased = CASE WHEN due_at <= ?4 THEN leased ELSE 0 END`,
    ).run(runId, change.priority, rankOf(change.detail), change.at)
  } else if (change.again === undefined) {
    db.prepare('DELETE FROM enrichment_queue WHERE run_id = ? AND leased = 1').run(runId)
  } else {
    const { detail, at, priority } = change.again
    db.prepare(
      'UPDATE enrichment_queue SET detail = ?, due_at = ?, priority = coalesce(?, priority), leased = 0 WHERE run_id = ? AND leased = 1',
    ).run(rankOf(detail), at, priority ?? null, runId)
  }
}

/** Remembers which pipelines these jobs started. */
export function noteTriggers(db: Database, runId: number, instance: string, jobs: readonly Job[]): void {
  for (const { id, record } of jobs) {
    const { downstream } = record.facts
    if (downstream === undefined) continue
    db.prepare(
      `INSERT INTO triggers (instance, pipeline_id, run_id, job_id) VALUES (?, ?, ?, ?)
       ON CONFLICT (instance, pipeline_id) DO UPDATE SET run_id = excluded.run_id, job_id = excluded.job_id`,
    ).run(instance, downstream.pipelineId, runId, id)
  }
}

/** What a dead process had taken is due at once. */
export function reclaimAsking(db: Database): void {
  db.prepare('UPDATE enrichment_queue SET due_at = ?, leased = 0 WHERE leased = 1').run(db.now())
}

function rankOf(wants: DetailLevel): number {
  return detailLevels.indexOf(wants)
}
