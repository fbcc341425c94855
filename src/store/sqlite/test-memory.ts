// What is remembered of tests, on SQLite.
import { recordReport, testMemoryStatements, type Steps } from '../sql/test-memory.ts'
import { sqliteStatements } from './statements.ts'
import type { Database } from './database.ts'
import type { TestMemory } from '../ports/test-memory.ts'

/** `limit`: bytes of one project. */
export function sqliteTestMemory(db: Database, limit: number | undefined): TestMemory {
  const { damaged } = db
  return {
    ...testMemoryStatements(sqliteStatements(db)),
    record: async report => db.transaction(() => taken(db, recordReport(report, { now: db.now(), limit, damaged }))),
  }
}

function taken<T>(db: Database, steps: Steps<T>): T {
  let step = steps.next()
  while (step.done !== true) {
    const [sql, values] = step.value
    step = steps.next(db.prepare(sql).all(...values))
  }
  return step.value
}
