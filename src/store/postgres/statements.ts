// Runs the shared SQL on PostgreSQL.
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

/** With `$1` for `?1`. */
export function placed(sql: string): string {
  return sql.replace(/\?(\d+)/g, '$$$1')
}
