// How one text of SQL is run on either database. Values stand as `?1`, `?2` in it: SQLite's way, which is PostgreSQL's `$1`, `$2`.
import type { DamagedRows } from './stored-json.ts'
import type { Row } from './columns.ts'

export type Value = string | number | null

export interface Statements {
  all(sql: string, values?: readonly Value[]): Promise<Row[]>
  /** A transaction of its own; answers how many rows it changed. */
  change(sql: string, values?: readonly Value[]): Promise<number>
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
