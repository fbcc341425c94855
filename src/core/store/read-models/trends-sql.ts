// The SQL that updates figures over time (`trend-steps.ts`). `trend-reads.ts` reads them.
import { figuresOf } from './trend-reads.ts'
import { plus, type Addition } from './trend-sums.ts'
import { forRows, type StepValue } from '../sql/steps.ts'
import type { DamagedRows } from '../sql/stored-json.ts'
import type { Row } from '../sql/columns.ts'

/**
 * Hourly rows and rows of costs in memory before they are written; at most as many daily rows are written with them. A row takes some
 * 800 bytes in memory and 8 µs to write, so a few thousand block the event loop for some tens of milliseconds. With 1,000, a load of 40
 * projects whose jobs have 1,300 names was written twenty times as often, for half of the main thread's time. One chunk may add more:
 * each job of a pipeline of 40,000 may be another row.
 */
export const rowsInMemory = 4_000

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
