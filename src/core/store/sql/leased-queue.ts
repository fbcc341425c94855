// A queue in a table, for both databases: a row is leased when it is due, and is due again once its lease has expired. Each of these tables has
// `due_at` (when the row is due, or its lease ends) and `leased` (1 while it is leased); `tries`, if tries are counted.
import type { Row } from './columns.ts'
import type { Statements, Value } from './statements.ts'

export const queueTables = ['enrichment_queue']

/** A condition, with its values. */
export type Condition = readonly [where: string, values: readonly Value[]]

export interface LeasedQueue {
  /** Leases due rows, the longest due first. `which`: a condition whose values are numbered after the first `before`. */
  take(
    limit: number,
    leaseMs: number,
    which?: (before: number) => Condition,
  ): Promise<{ readonly rows: readonly Row[]; readonly now: number }>
  /** Extends leases, from now on; 0: the rows are due at once. */
  extend(rows: Condition, leaseMs: number): Promise<void>
  /** Ends leases: the rows are due in `ms`. `counted`: this was a try. */
  defer(rows: Condition, ms: number, counted?: boolean): Promise<void>
}

/** `returning`: what `take` returns of each row. */
export function leasedQueue(
  sql: Statements,
  table: string,
  returning: string,
  id: 'id' | 'run_id' = 'id',
): LeasedQueue {
  const put = async (set: string, [where, values]: Condition, ms: number): Promise<void> => {
    await sql.change(
      `UPDATE ${table} SET due_at = ?${values.length + 1}, ${set} WHERE due_at IS NOT NULL AND ${where}`,
      [...values, (await sql.now()) + ms],
    )
  }
  return {
    take: async (limit, leaseMs, which = () => ['due_at IS NOT NULL', []]) => {
      const now = await sql.now()
      // Usually nothing is due, and a SELECT needs no transaction.
      const [is, own] = which(1)
      const first = await sql.all(`SELECT 1 FROM ${table} WHERE due_at <= ?1 AND ${is} LIMIT 1`, [now, ...own])
      if (first.length === 0) return { rows: [], now }
      const [where, values] = which(3)
      const rows = await sql.changed(
        `UPDATE ${table} SET due_at = ?1, leased = 1
         WHERE ${id} IN (SELECT ${id} FROM ${table} WHERE due_at <= ?2 AND ${where} ORDER BY due_at, ${id} LIMIT ?3 ${sql.skipLocked})
         RETURNING ${returning}`,
        [now + leaseMs, now, limit, ...values],
      )
      return { rows, now }
    },
    // A row that became due again since it was leased is no longer leased: it stays due.
    extend: async ([where, values], leaseMs) =>
      put(`leased = ${leaseMs > 0 ? 1 : 0}`, [`leased = 1 AND ${where}`, values], leaseMs),
    defer: async (rows, ms, counted = false) => put(`leased = 0${counted ? ', tries = tries + 1' : ''}`, rows, ms),
  }
}
