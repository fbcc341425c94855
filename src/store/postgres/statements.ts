// Statements that both databases share, on PostgreSQL.
import type { Database } from './database.ts'
import type { Statements } from '../sql/statements.ts'

export function postgresStatements(db: Database): Statements {
  return {
    all: async (sql, values) => db.ask(placed(sql), values),
    change: async (sql, values) => (await db.query(`${placed(sql)} RETURNING 1`, values)).length,
    changed: async (sql, values) => db.ask(placed(sql), values),
    now: async () => db.now(),
    damaged: db.damaged,
    skipLocked: 'FOR UPDATE SKIP LOCKED',
  }
}

/** With the values' places as PostgreSQL writes them. */
export function placed(sql: string): string {
  return sql.replace(/\?(\d+)/g, '$$$1')
}
