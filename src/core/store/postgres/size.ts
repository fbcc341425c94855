// How much of the PostgreSQL database is in use. After deletions its files have free space, but do not shrink.
import { number, optional, record, text } from '../sql/columns.ts'
import type { Database, Session } from './database.ts'

/** Rows of each table that are sampled. */
const sampled = 50
/** The indexed column by which the latest rows are found. Tables without one are sampled anywhere. */
const latest: Readonly<Record<string, string>> = {
  quarantined_deliveries: 'id',
  runs: 'id',
  chunks: 'id',
  outbox: 'id',
  deployments: 'id',
}
/** The factor for indexes, headers and half-empty pages. */
const overhead = 1.5
/** Bytes of a database without any rows. */
const emptyDatabase = 10 * 1024 * 1024

/**
 * Bytes in use: the size of the database, or the space that its rows need if that is less. The latter is estimated from PostgreSQL's
 * statistics and a few rows of each table.
 */
export async function usedBytes(db: Database): Promise<number> {
  return db.transaction(async session => measure(session))
}

const size = number('bytes')
const table = record({ name: text('name'), rows: number('rows') })

async function measure(db: Session): Promise<number> {
  const [whole] = await db.query('SELECT pg_database_size(current_database()) AS bytes')
  const found = await db.query(`
    SELECT quote_ident(relname) AS name, n_live_tup AS rows FROM pg_stat_user_tables
    WHERE schemaname = current_schema() AND n_live_tup > 0 AND has_table_privilege(relid, 'SELECT')`)
  const tables = found.map(table)
  const columns = tables.map(({ name }, at) => `(${meanWidth(name)}) AS width_${at}`)
  const [widths = {}] = tables.length === 0 ? [] : await db.query(`SELECT ${columns.join(', ')}`)
  const needed = tables.reduce((sum, { rows }, at) => sum + rows * (optional(number, `width_${at}`)(widths) ?? 0), 0)
  return Math.min(size(whole ?? {}), emptyDatabase + needed * overhead)
}

/** Bytes of a row, from some rows. */
function meanWidth(name: string): string {
  const key = latest[name]
  const some = `SELECT * FROM ${name} ${key === undefined ? '' : `ORDER BY ${key} DESC`} LIMIT ${sampled}`
  return `SELECT avg(pg_column_size(sample.*)) FROM (${some}) AS sample`
}
