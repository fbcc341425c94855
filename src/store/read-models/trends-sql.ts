// The SQL that updates figures over time (`trend-steps.ts`). `trend-reads.ts` reads them.
import { figuresOf } from './trend-reads.ts'
import { plus, type Addition } from './trend-sums.ts'
import { forRows, type StepValue } from '../sql/steps.ts'
import { storedChunk, type DamagedRows } from '../sql/stored-json.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { Row } from '../sql/columns.ts'

/**
 * Hourly rows and rows of costs in memory before they are written; at most as many daily rows are written with them. A row takes some
 * 800 bytes in memory and 8 µs to write, so a few thousand block the event loop for some tens of milliseconds. With 1,000, a load of 40
 * projects whose jobs have 1,300 names was written twenty times as often, for half of the main thread's time. One chunk may add more:
 * each job of a pipeline of 40,000 may be another row.
 */
export const rowsInMemory = 4_000

export const takeInSql = {
  /** Locks out other replicas where there are any. */
  reached: `INSERT INTO trends_reached VALUES (1, 0)
            ON CONFLICT (id) DO UPDATE SET chunk_id = trends_reached.chunk_id RETURNING chunk_id`,
  /** Chunks after the last, up to the one before which no other can still appear. */
  ids: 'SELECT id, run_id, inside FROM chunks WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3',
  earlier: 'SELECT id FROM chunks WHERE run_id = ?1 AND id < ?2 AND inside IS NULL ORDER BY id',
  /** Numbers may be reused: after the newest chunks were pruned, or in a copy of a store. */
  moveBack: `UPDATE trends_reached SET chunk_id = (SELECT coalesce(max(id), 0) FROM chunks)
             WHERE chunk_id > (SELECT coalesce(max(id), 0) FROM chunks)`,
} as const

const selectContent = 'SELECT id, content FROM chunks WHERE'
/** Without what was read inside of jobs, unless it has sections: it may be large. */
export const selectContents = forRows(
  ['bigint'],
  ({ among }) => `${selectContent} ${among('id')} AND (inside IS NULL OR content LIKE '%,"sections":[%')`,
  `${selectContent} id = ?1 AND (inside IS NULL OR instr(content, ',"sections":[') > 0)`,
)

const keyTypes = ['bigint', 'bigint', 'text', 'bigint', 'text', 'text', 'text', 'text'] as const
const key = 'step, project_id, job, bucket, instance, branch, source, pipeline_name'

/** Its rows are a number, and a key (`rowKey`). */
export const knownTrends = forRows(
  ['bigint', ...keyTypes],
  ({ rows }) => `
  WITH k (nth, ${key}) AS (${rows})
  SELECT k.nth, t.runs, t.failed, t.flaky, t.total_ms, t.durations, t.queues FROM k JOIN trends t USING (${key})`,
)

/** Writes rows (`rowValues`) in the place of those with their keys. */
export const writeTrends = forRows(
  [...keyTypes, ...(['text', 'bigint', 'bigint', 'bigint', 'bigint', 'json', 'json'] as const)],
  ({ rows }) => `
  INSERT INTO trends (${key}, project, runs, failed, flaky, total_ms, durations, queues) ${rows}
  ON CONFLICT (${key}) DO UPDATE SET
    project = excluded.project, runs = excluded.runs, failed = excluded.failed, flaky = excluded.flaky,
    total_ms = excluded.total_ms, durations = excluded.durations, queues = excluded.queues`,
)

/** A chunk whose figures are counted; undefined if it is damaged. */
export function countedChunk(damaged: DamagedRows, id: number, content: unknown): Chunk | undefined {
  return counted(damaged, id, () => storedChunk(content))
}

/** Runs a step that a damaged chunk may make fail. Such a chunk is skipped, because later chunks would wait for it for ever. */
export function counted<T>(damaged: DamagedRows, id: number, work: () => T): T | undefined {
  return damaged.orNothing({ chunk: id }, 'it is not among the figures over time', work)
}

export function rowKey({ step, row }: Addition): StepValue[] {
  const { projectId, job, bucket, instance, branch, source, pipelineName } = row
  return [step, projectId, job, bucket, instance, branch, source, pipelineName]
}

/** The values of `writeTrends`. */
export function rowValues(addition: Addition, before: Row | undefined, damaged: DamagedRows): StepValue[] {
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
