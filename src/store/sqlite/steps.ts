// Runs the steps of a transaction on SQLite.
import type { Database } from './database.ts'
import type { Row } from '../sql/columns.ts'
import type { Step, Steps, Within } from '../sql/steps.ts'

/** Within a transaction. */
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

/** Within a transaction. */
export function withinOf(db: Database): Within {
  return { now: db.now(), damaged: db.damaged, log: db.log, isShared: false }
}
