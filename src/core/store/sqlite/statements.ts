// Runs the shared SQL on SQLite: single statements, and the steps of a transaction.
import type { Database } from './database.ts'
import type { Row } from '../sql/columns.ts'
import type { Statements } from '../sql/statements.ts'
import type { Step, Steps, Within } from '../sql/steps.ts'

export function sqliteStatements(db: Database): Statements {
  return {
    all: async (sql, values = []) => db.prepare(sql).all(...values),
    change: async (sql, values = []) => db.transaction(() => Number(db.prepare(sql).run(...values).changes)),
    changed: async (sql, values = []) => db.transaction(() => db.prepare(sql).all(...values)),
    transaction: async steps => db.transaction(() => execute(db, steps(withinOf(db)))),
    now: async () => db.now(),
    damaged: db.damaged,
    skipLocked: '',
    listed: place => `SELECT value FROM json_each(${place})`,
    pathOfRun: "json_extract(runs.project, '$.facts.path')",
  }
}

/** Runs the steps one after another, in the transaction that the caller has begun. */
export function execute<T>(db: Database, steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) step = steps.next(rowsOf(db, step.value))
  return step.value
}

function rowsOf(db: Database, step: Step): readonly Row[] {
  if ('concurrently' in step) {
    for (const steps of step.concurrently) execute(db, steps)
    return []
  }
  if ('each' in step) {
    const statement = db.prepare(step.each.sqlite)
    return step.rows.flatMap(row => statement.all(...row))
  }
  const [sql, values] = step
  return db.prepare(sql).all(...values)
}

export function withinOf(db: Database): Within {
  return {
    now: db.now(),
    damaged: db.damaged,
    log: db.log,
    encode: db.encode,
    isShared: false,
  }
}
