// Test results on SQLite.
import { recordReport, testMemoryStatements } from '../sql/test-memory.ts'
import { sqliteStatements } from './statements.ts'
import type { Database } from './database.ts'
import { taken } from './steps.ts'
import type { TestMemory } from '../ports/test-memory.ts'

/** `limit`: bytes of one project. */
export function sqliteTestMemory(db: Database, limit: number | undefined): TestMemory {
  const { damaged } = db
  return {
    ...testMemoryStatements(sqliteStatements(db)),
    record: async report => db.transaction(() => taken(db, recordReport(report, { now: db.now(), limit, damaged }))),
  }
}
