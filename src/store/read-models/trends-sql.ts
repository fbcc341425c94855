// The SQL by which figures over time are brought up to date; how a transaction is made is each database's own matter. Reading them:
// trend-reads.ts.
import { day, hour, hoursStoredFor, type TrendStep } from '../ports/trends.ts'
import { figuresOf } from './trend-reads.ts'
import { plus, type Addition } from './trend-sums.ts'
import { storedChunk, type DamagedRows } from '../sql/stored-json.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Row } from '../sql/columns.ts'
import type { Value } from '../sql/statements.ts'

export const trendSteps: readonly TrendStep[] = [hour, day]

/**
 * Rows of hours and of costs in memory before they are written; at most as many again, of days, are written with them. A row takes some
 * 800 bytes in memory and 8 µs to write, so a few thousand hold up the loop for some tens of milliseconds. With 1,000, a load of 40
 * projects whose jobs have 1,300 names was written twenty times as often, for half of the main thread's time. One chunk may add more:
 * each job of a pipeline of 40,000 may be another row.
 */
export const rowsInMemory = 4_000

/** What is read and written to bring the figures up to date, in order; each database runs it in one transaction. */
export const takeInSql = {
  /** Locks out other replicas where there are any. */
  reached: `INSERT INTO trends_reached VALUES (1, 0)
            ON CONFLICT (id) DO UPDATE SET chunk_id = trends_reached.chunk_id RETURNING chunk_id`,
  /**
   * Chunks after the last, up to the one before which no other can still appear; without the content of events, and of those inside of jobs
   * that have no sections.
   */
  chunks: `SELECT id, run_id, CASE WHEN run_id IS NOT NULL AND (inside IS NULL OR content LIKE '%,"sections":[%') THEN content END AS content
           FROM chunks WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3`,
  /** The same where they may still be in memory. */
  ids: 'SELECT id, run_id, inside FROM chunks WHERE id > ?1 ORDER BY id LIMIT ?2',
  earlier: 'SELECT id, content FROM chunks WHERE run_id = ?1 AND id < ?2 AND inside IS NULL',
  row: `SELECT runs, failed, flaky, total_ms, durations, queues FROM trends
        WHERE step = ?1 AND project_id = ?2 AND job = ?3 AND bucket = ?4 AND instance = ?5 AND branch = ?6 AND source = ?7
          AND pipeline_name = ?8`,
  write: writing('VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)'),
  move: 'UPDATE trends_reached SET chunk_id = ?1 WHERE id = 1',
  /** Where numbers are given again that were given before: after the newest were pruned, or in a copy of a store. */
  moveBack: `UPDATE trends_reached SET chunk_id = (SELECT coalesce(max(id), 0) FROM chunks)
             WHERE chunk_id > (SELECT coalesce(max(id), 0) FROM chunks)`,
  prune: 'DELETE FROM trends WHERE step = ?1 AND bucket < ?2',
} as const

/** Writes rows (`rowValues`) in the place of those with their keys. */
export function writing(rows: string): string {
  const key = 'step, project_id, job, bucket, instance, branch, source, pipeline_name'
  return `INSERT INTO trends (${key}, project, runs, failed, flaky, total_ms, durations, queues)
          ${rows}
          ON CONFLICT (${key}) DO UPDATE SET
            project = excluded.project, runs = excluded.runs, failed = excluded.failed, flaky = excluded.flaky,
            total_ms = excluded.total_ms, durations = excluded.durations, queues = excluded.queues`
}

/** A chunk of which figures are taken; undefined where it is damaged. */
export function countedChunk(damaged: DamagedRows, id: number, content: unknown): Chunk | undefined {
  return counted(damaged, id, () => storedChunk(content))
}

/** Does what a damaged chunk may make fail: it is passed over then, as those after it would wait for it for ever. */
export function counted<T>(damaged: DamagedRows, id: number, work: () => T): T | undefined {
  return damaged.orNothing({ chunk: id }, 'it is not among the figures over time', work)
}

export function rowKey({ step, row }: Addition): Value[] {
  const { projectId, job, bucket, instance, branch, source, pipelineName } = row
  return [step, projectId, job, bucket, instance, branch, source, pipelineName]
}

/** The values of `takeInSql.write`. */
export function rowValues(addition: Addition, before: Row | undefined, damaged: DamagedRows): Value[] {
  const { row, step: trend } = addition
  const { projectId, job, bucket } = row
  const known =
    before && damaged.orNothing({ trend, projectId, job, bucket }, 'its figures begin anew', () => figuresOf(before))
  const sum = known === undefined ? row : plus(known, row)
  return [
    ...rowKey(addition),
    row.project,
    sum.runs,
    sum.failed,
    sum.flaky,
    sum.totalMs,
    sum.durations.json(),
    sum.queues.json(),
  ]
}

/** Before when a step's rows are forgotten. `keep`: how long those of days are stored, ms. */
export function forgottenBefore(step: TrendStep, now: number, keep: number): number {
  return now - (step === hour ? Math.min(hoursStoredFor, keep) : keep)
}
