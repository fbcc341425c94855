// What is still to be asked about runs, on SQLite.
import { detailLevels, type EnrichmentQueue, type EnrichmentChange } from '../ports/enrichment-queue.ts'
import { enrichmentChange, enrichmentStatements } from '../sql/enrichment-queue.ts'
import { sqliteStatements } from './statements.ts'
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
    ...enrichmentStatements(sqliteStatements(db)),
  }
}

/** Part of a run's change. */
export function changeAsking(db: Database, runId: number, change: EnrichmentChange | undefined): void {
  if (change === undefined) return
  const [sql, values] = enrichmentChange(runId, change)
  db.prepare(sql).run(...values)
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
