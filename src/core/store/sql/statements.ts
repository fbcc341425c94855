// Runs the same SQL text on either database. Its parameters are `?1`, `?2`, as on SQLite. For PostgreSQL they become `$1`, `$2`.
import type { DamagedRows } from './damaged-rows.ts'
import type { Cell, Row } from './columns.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { Steps, Within } from './steps.ts'

export type Value = Cell

/** Runs a query on either database. `?1`, `?2`, … in the text stand for the values. */
export type Ask = (sql: string, values: readonly Value[]) => Promise<Row[]>

export interface Statements {
  /** Runs a SELECT and returns all rows. */
  readonly all: (sql: string, values?: readonly Value[]) => Promise<Row[]>
  /** Runs a change in its own transaction. Returns the number of changed rows. */
  change(sql: string, values?: readonly Value[]): Promise<number>
  /** Runs a change with RETURNING in its own transaction. Returns the rows of RETURNING. */
  changed(sql: string, values?: readonly Value[]): Promise<Row[]>
  /**
   * Runs the steps in one transaction. If a step throws, all steps are rolled back. After a conflict with another replica the steps may run again.
   */
  transaction<T>(steps: (within: Within) => Steps<T>): Promise<T>
  /** Returns the Unix time in ms by the database's clock. */
  now(): Promise<number>
  readonly damaged: DamagedRows
  /** The end of a SELECT within a change. On PostgreSQL it skips rows that another replica has locked. */
  readonly skipLocked: '' | 'FOR UPDATE SKIP LOCKED'
  /** A subquery that yields the numbers of a JSON array. */
  readonly listed: (place: string) => string
  /** The SQL of the full path of a run's project, for a row of `runs`. It yields null if the path is unknown. */
  readonly pathOfRun: string
}

/** Returns the parameters of `IN (…)`, numbered after the first `before` values. */
export function places(ids: readonly unknown[], before = 0): string {
  return ids.map((_, index) => `?${before + index + 1}`).join(', ')
}

/** Returns the parameters of `(instance, pipeline_id) IN …`, numbered after the first `before` values. Their values are `keyValues`. */
export function keyPlaces(keys: readonly RunKey[], before = 0): string {
  const pair = (at: number): string => `(CAST(?${at} AS text), CAST(?${at + 1} AS bigint))`
  return `(VALUES ${keys.map((_, index) => pair(before + 2 * index + 1)).join(', ')})`
}

export function keyValues(keys: readonly RunKey[]): Value[] {
  return keys.flatMap(({ instance, pipelineId }) => [instance, pipelineId])
}
