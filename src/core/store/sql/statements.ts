// Runs the same SQL on either database. Its parameters are `?1`, `?2`, as on SQLite. For PostgreSQL they become `$1`, `$2`.
import type { DamagedRows } from './damaged-rows.ts'
import type { Cell, Row } from './columns.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { Steps, Within } from './steps.ts'

export type Value = Cell

/** Runs a query on either database. The parameters are `?1`, `?2`, … */
export type Ask = (sql: string, values: readonly Value[]) => Promise<Row[]>

export interface Statements {
  /** Runs a SELECT and returns all rows. */
  readonly all: (sql: string, values?: readonly Value[]) => Promise<Row[]>
  /** Runs a change in its own transaction. Returns the number of changed rows. */
  change(sql: string, values?: readonly Value[]): Promise<number>
  /** Runs a change with a RETURNING clause in its own transaction, and returns its rows. */
  changed(sql: string, values?: readonly Value[]): Promise<Row[]>
  /**
   * Runs the steps in one transaction. If a step throws, the transaction is rolled back. After a conflict with another replica the steps may run
   * again.
   */
  transaction<T>(steps: (within: Within) => Steps<T>): Promise<T>
  /** Returns the Unix time in ms by the database's clock. */
  now(): Promise<number>
  readonly damaged: DamagedRows
  /** The end of a SELECT within a change. On PostgreSQL it skips rows locked by another replica. */
  readonly skipLocked: '' | 'FOR UPDATE SKIP LOCKED'
  /** A subquery that yields the numbers of a JSON array. */
  readonly listed: (place: string) => string
  /** The SQL for the full path of a run's project, given a row of `runs`. It yields null if the path is unknown. */
  readonly pathOfRun: string
}

/** Returns the parameters of `IN (…)`, numbered from `before` + 1. */
export function placeholders(ids: readonly unknown[], before = 0): string {
  return ids.map((_, index) => `?${before + index + 1}`).join(', ')
}

/** Returns the parameters of `(instance, pipeline_id) IN …`, numbered from `before` + 1. `keyValues` returns their values. */
export function keyPlaceholders(keys: readonly RunKey[], before = 0): string {
  const pair = (at: number): string => `(CAST(?${at} AS text), CAST(?${at + 1} AS bigint))`
  return `(VALUES ${keys.map((_, index) => pair(before + 2 * index + 1)).join(', ')})`
}

export function keyValues(keys: readonly RunKey[]): Value[] {
  return keys.flatMap(({ instance, pipelineId }) => [instance, pipelineId])
}
