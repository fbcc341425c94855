// The statements that write runs, jobs, chunks and outbox entries. `rows` is the source of the rows: VALUES on SQLite, arrays on PostgreSQL.
import { plainText } from './plain-text.ts'
import { restorableRange, type JobWrites } from './run-rows.ts'
import type { Job } from '../../model/job.ts'
import type { PendingChunk, RunChange, StoredRun } from '../ports/runs.ts'
import type { Value } from './statements.ts'

/** Columns of `runs` that a change writes. */
const runColumns = [
  ...(['project_id', 'status', 'name', 'project', 'pipeline', 'attempts', 'first_seen_by'] as const),
  ...(['changed_at', 'ended_at', 'enriching_until', 'due_at'] as const),
]

export const runTable = {
  columns: runColumns,
  /** In the order of the columns. */
  values: ({ run, timing }: RunChange, firstSeenBy: StoredRun['firstSeenBy']): Value[] => {
    const { status, name } = run.pipeline?.record.facts ?? {}
    return [
      run.project.facts.id,
      status === undefined ? null : plainText(status),
      name === undefined ? null : plainText(name),
      JSON.stringify({ ...run.project, listedMergeRequest: run.listedMergeRequest }),
      run.pipeline === undefined ? null : JSON.stringify(run.pipeline),
      JSON.stringify(run.attempts),
      JSON.stringify(firstSeenBy),
      timing.changedAt,
      timing.endedAt ?? null,
      timing.enrichingUntil ?? null,
      timing.dueAt ?? null,
    ]
  },
  /** `rows`: the values, then the run's key. */
  insert: (rows: string) => `INSERT INTO runs (${runColumns.join(', ')}, instance, pipeline_id) ${rows}`,
}

export const jobTable = {
  insert: (rows: string) => `
    INSERT INTO jobs (run_id, job_id, record, times, snapshot) ${rows}
    ON CONFLICT (run_id, job_id) DO UPDATE SET record = excluded.record, times = excluded.times, snapshot = excluded.snapshot`,
  /** The columns `record`, `times` and `snapshot`. */
  texts: ({ record, times, snapshot }: Job): readonly [string, string, string | null] => [
    JSON.stringify(record),
    JSON.stringify(times),
    snapshotText(snapshot),
  ],
}

export function snapshotText(snapshot: Job['snapshot']): string | null {
  return snapshot === undefined ? null : JSON.stringify(snapshot)
}

export const chunkTable = {
  insert: (rows: string) =>
    `INSERT INTO chunks (run_id, attempt, number, first_job, last_job, inside, snapshot_at, content) ${rows}`,
  /** All but the content (`chunk-text.ts`). */
  values: (runId: number, { chunk }: PendingChunk, { inChunks }: JobWrites, now: number): Value[] => {
    const [first, last] = restorableRange(chunk, inChunks) ?? [null, null]
    return [runId, chunk.attempt, chunk.number, first, last, chunk.inside?.job.id ?? null, now]
  },
}

export const outboxTable = {
  /** `rows`: a chunk's id, the signal, the destination, `pending`, and twice the time. */
  insert: (rows: string) => `INSERT INTO outbox (chunk_id, signal, destination, state, pending_since, due_at) ${rows}`,
}
