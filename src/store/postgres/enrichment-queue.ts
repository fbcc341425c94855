// Writes the enrichment queue and the triggers of changed runs, on PostgreSQL.
import { enrichmentChange, insertTriggers } from '../sql/enrichment-queue.ts'
import { columnsOf, unnest } from './arrays.ts'
import { placed } from './arrays.ts'
import type { EnrichmentChange } from '../ports/enrichment-queue.ts'
import type { Job } from '../../model/job.ts'
import type { Session } from './database.ts'

export async function changeEnrichment(
  session: Session,
  changes: readonly { readonly runId: number; readonly change: EnrichmentChange | undefined }[],
): Promise<void> {
  for (const { runId, change } of changes) {
    if (change === undefined) continue
    const [sql, values] = enrichmentChange(runId, change)
    await session.query(placed(sql), values)
  }
}

export async function writeTriggers(
  session: Session,
  jobs: readonly { readonly runId: number; readonly instance: string; readonly job: Job }[],
): Promise<void> {
  // One statement cannot write a row twice: of two jobs that started the same pipeline the later one is written.
  const rows = new Map(
    jobs.flatMap(({ runId, instance, job }) => {
      const child = job.record.facts.downstream?.pipelineId
      return child === undefined ? [] : [[`${instance}\n${child}`, [instance, child, runId, job.id]] as const]
    }),
  )
  if (rows.size > 0) await session.query(insertTrigger, columnsOf([...rows.values()]))
}

const insertTrigger = insertTriggers(`SELECT * FROM ${unnest(['text', 'bigint', 'bigint', 'bigint'])}`)
