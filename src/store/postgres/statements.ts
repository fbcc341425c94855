// Runs the shared SQL on PostgreSQL.
import { placed } from './arrays.ts'
import { execute, withinOf } from './steps.ts'
import type { Database } from './database.ts'
import type { Statements } from '../sql/statements.ts'

export function postgresStatements(db: Database): Statements {
  return {
    all: async (sql, values) => db.ask(placed(sql), values),
    change: async (sql, values) => (await db.query(`${placed(sql)} RETURNING 1`, values)).length,
    changed: async (sql, values) => db.ask(placed(sql), values),
    transaction: async steps => db.transaction(async (session, now) => execute(session, steps(withinOf(session, now)))),
    now: async () => db.now(),
    damaged: db.damaged,
    skipLocked: 'FOR UPDATE SKIP LOCKED',
    pathOfRun: "CAST(runs.project AS json) -> 'facts' ->> 'path'",
  }
}
