// Runs one text of SQL on either database. Its parameters are `?1`, `?2`, as on SQLite; for PostgreSQL they become `$1`, `$2`.
import type { DamagedRows } from './damaged-rows.ts'
import type { Cell, Row } from './columns.ts'
import type { RunKey } from '../../../model/observation.ts'
import type { Steps, Within } from './steps.ts'

export type Value = Cell

/** Queries either database: `?1`, `?2`, … in the text stand for the values. */
export type Ask = (sql: string, values: readonly Value[]) => Promise<Row[]>

export interface Statements {
  /** A SELECT. */
  readonly all: (sql: string, values?: readonly Value[]) => Promise<Row[]>
  /** A change in its own transaction; returns the number of changed rows. */
  change(sql: string, values?: readonly Value[]): Promise<number>
  /** A change with RETURNING, in its own transaction. */
  changed(sql: string, values?: readonly Value[]): Promise<Row[]>
  /** Runs the steps in one transaction: all, or none if one throws. May repeat them after a conflict with another replica. */
  transaction<T>(steps: (within: Within) => Steps<T>): Promise<T>
  /** The database's clock, ms of Unix time. */
  now(): Promise<number>
  readonly damaged: DamagedRows
  /** The end of a SELECT within a change that skips rows that another replica has locked. */
  readonly skipLocked: '' | 'FOR UPDATE SKIP LOCKED'
  /** A subquery of the numbers in a JSON array. */
  readonly listed: (place: string) => string
  /** The full path of the project of a row of `runs`; null if it is unknown. */
  readonly pathOfRun: string
}

/** Parameters for `IN (…)`, numbered after the first `before` values. */
export function places(ids: readonly unknown[], before = 0): string {
  return ids.map((_, index) => `?${before + index + 1}`).join(', ')
}

/** Parameters for `(instance, pipeline_id) IN …`, numbered after the first `before` values; the values are `keyValues`. */
export function keyPlaces(keys: readonly RunKey[], before = 0): string {
  const pair = (at: number): string => `(CAST(?${at} AS text), CAST(?${at + 1} AS bigint))`
  return `(VALUES ${keys.map((_, index) => pair(before + 2 * index + 1)).join(', ')})`
}

export function keyValues(keys: readonly RunKey[]): Value[] {
  return keys.flatMap(({ instance, pipelineId }) => [instance, pipelineId])
}
