// Writes the enrichment queue and the triggers of a changed run, on SQLite.
import { enrichmentChange, insertTriggers } from '../sql/enrichment-queue.ts'
import type { Database } from './database.ts'
import type { EnrichmentChange } from '../ports/enrichment-queue.ts'
import type { Job } from '../../model/job.ts'

export function changeEnrichment(db: Database, runId: number, change: EnrichmentChange | undefined): void {
  if (change === undefined) return
  const [sql, values] = enrichmentChange(runId, change)
  db.prepare(sql).run(...values)
}

export function writeTriggers(db: Database, runId: number, instance: string, jobs: readonly Job[]): void {
  for (const { id, record } of jobs) {
    const child = record.facts.downstream?.pipelineId
    if (child !== undefined) db.prepare(insertTrigger).run(instance, child, runId, id)
  }
}

const insertTrigger = insertTriggers('VALUES (?, ?, ?, ?)')
