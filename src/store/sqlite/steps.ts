// Runs the steps of a transaction on SQLite.
import type { Database } from './database.ts'
import type { Steps } from '../sql/steps.ts'

/** Within a transaction. */
export function taken<T>(db: Database, steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) {
    const [sql, values] = step.value
    step = steps.next(db.prepare(sql).all(...values))
  }
  return step.value
}
