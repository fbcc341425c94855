// Runs the shared SQL on SQLite.
import { execute, withinOf } from './steps.ts'
import type { Database } from './database.ts'
import type { Statements } from '../sql/statements.ts'

export function sqliteStatements(db: Database): Statements {
  return {
    all: async (sql, values = []) => db.prepare(sql).all(...values),
    change: async (sql, values = []) => db.transaction(() => Number(db.prepare(sql).run(...values).changes)),
    changed: async (sql, values = []) => db.transaction(() => db.prepare(sql).all(...values)),
    transaction: async steps => db.transaction(() => execute(db, steps(withinOf(db)))),
    now: async () => db.now(),
    damaged: db.damaged,
    skipLocked: '',
    pathOfRun: "json_extract(runs.project, '$.facts.path')",
  }
}
