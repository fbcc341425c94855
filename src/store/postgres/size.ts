// How much of the PostgreSQL database is in use. After deletions its files have free space, but do not shrink.
import { number, optional, text } from '../sql/columns.ts'
import type { Database, Session } from './database.ts'

/** The large tables, with the order in which rows are sampled: the latest, if an index has them. */
const large: Readonly<Record<string, string>> = {
  inbox: 'ORDER BY id DESC',
  quarantined_deliveries: 'ORDER BY id DESC',
  delivery_keys: '',
  runs: 'ORDER BY id DESC',
  jobs: 'ORDER BY run_id DESC',
  chunks: 'ORDER BY id DESC',
  outbox: 'ORDER BY id DESC',
  tombstones: '',
}
const sampled = 50
/** The factor for indexes, headers and half-empty pages. */
const overhead = 1.5
/** Bytes of a database without any rows. */
const emptyDatabase = 10 * 1024 * 1024

/**
 * Bytes in use: the size of the database, or what its rows need, if that is less. The latter is estimated from PostgreSQL's
 * statistics and a few rows of each table.
 */
export async function usedBytes(db: Database): Promise<number> {
  return db.transaction(async session => measure(session))
}

const width = optional(number, 'width')

async function measure(db: Session): Promise<number> {
  const [row] = await db.query('SELECT pg_database_size(current_database()) AS bytes')
  const counts = await db.query(
    'SELECT relname AS name, n_live_tup AS rows FROM pg_stat_user_tables WHERE schemaname = current_schema()',
  )
  const rowsOf = new Map(counts.map(row => [text('name')(row), number('rows')(row)]))
  let needed = 0
  for (const [name, order] of Object.entries(large)) {
    const [sample] = await db.query(
      `SELECT avg(pg_column_size(sample.*)) AS width FROM (SELECT * FROM ${name} ${order} LIMIT ${sampled}) sample`,
    )
    needed += (rowsOf.get(name) ?? 0) * (width(sample ?? {}) ?? 0) * overhead
  }
  return Math.min(number('bytes')(row ?? {}), emptyDatabase + needed)
}
