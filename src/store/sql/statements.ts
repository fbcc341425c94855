// How one text of SQL is run on either database. Values stand as `?1`, `?2` in it: SQLite's way, which is PostgreSQL's `$1`, `$2`.
import type { DamagedRows } from './stored-json.ts'
import type { Row } from './columns.ts'
import type { RunKey } from '../../model/observation.ts'

export type Value = string | number | null

export interface Statements {
  /** What a SELECT answers. */
  all(sql: string, values?: readonly Value[]): Promise<Row[]>
  /** A transaction of its own; answers how many rows it changed. */
  change(sql: string, values?: readonly Value[]): Promise<number>
  /** The same for a change that ends with RETURNING: answers these rows. */
  changed(sql: string, values?: readonly Value[]): Promise<Row[]>
  /** The database's clock, ms of Unix time. */
  now(): Promise<number>
  readonly damaged: DamagedRows
  /** Ends a SELECT within a change: what another replica works on is left out. */
  readonly skipLocked: '' | 'FOR UPDATE SKIP LOCKED'
}

/** `IN` these places, after the first `before` values. */
export function places(ids: readonly unknown[], before = 0): string {
  return ids.map((_, index) => `?${before + index + 1}`).join(', ')
}

/** `(instance, pipeline_id) IN` these, after the first `before` values: each run takes two (`keyValues`). */
export function keyPlaces(keys: readonly RunKey[], before = 0): string {
  const pair = (at: number): string => `(CAST(?${at} AS text), CAST(?${at + 1} AS bigint))`
  return `(VALUES ${keys.map((_, index) => pair(before + 2 * index + 1)).join(', ')})`
}

export function keyValues(keys: readonly RunKey[]): Value[] {
  return keys.flatMap(({ instance, pipelineId }) => [instance, pipelineId])
}
