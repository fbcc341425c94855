// A queue in a table, for both databases. A row is leased when it is due, and becomes due again when its lease expires. Each of these tables has the
// column `due_at` (when the row is due, or its lease ends) and the column `leased` (1 while the row is leased). If attempts are counted, it also has
// `tries`.
import type { Row } from './columns.ts'
import type { Statements, Value } from './statements.ts'

export const queueTables = ['enrichment_queue']

/** A SQL condition with its values. */
export type Condition = readonly [where: string, values: readonly Value[]]

export interface LeasedQueue {
  /** Leases due rows, the longest overdue first. `which` returns a condition whose placeholders are numbered from `before` + 1. */
  take(
    limit: number,
    leaseMs: number,
    which?: (before: number) => Condition,
  ): Promise<{ readonly rows: readonly Row[]; readonly now: number }>
  /** Extends the leases of these rows to `leaseMs` from now. If `leaseMs` is 0, the rows become due at once. */
  extend(rows: Condition, leaseMs: number): Promise<void>
  /** Ends the leases of these rows, and makes the rows due in `ms`. `counted`: whether the ended lease counts as an attempt. */
  defer(rows: Condition, ms: number, counted?: boolean): Promise<void>
}

/** Creates a leased queue on a table. `returning`: the columns that `take` returns for each row. */
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
      // Check first: usually nothing is due, and a SELECT needs no transaction.
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
    // A row that was made due again while it was leased no longer counts as leased. Its lease is not extended, so it stays due.
    extend: async ([where, values], leaseMs) =>
      put(`leased = ${leaseMs > 0 ? 1 : 0}`, [`leased = 1 AND ${where}`, values], leaseMs),
    defer: async (rows, ms, counted = false) => put(`leased = 0${counted ? ', tries = tries + 1' : ''}`, rows, ms),
  }
}
