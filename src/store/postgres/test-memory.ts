// Test results on PostgreSQL.
import { postgresStatements } from './statements.ts'
import { recordReport, testMemoryStatements } from '../sql/test-memory.ts'
import type { Database } from './database.ts'
import { taken } from './steps.ts'
import type { TestMemory } from '../ports/test-memory.ts'

/** `limit`: bytes of one project. */
export function postgresTestMemory(db: Database, limit: number | undefined): TestMemory {
  const { damaged } = db
  return {
    ...testMemoryStatements(postgresStatements(db)),
    record: async report =>
      db.transaction(async (session, now) => {
        // Two reports written at the same time would not see each other.
        const name = `tests ${report.instance} ${report.projectId}`
        await session.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
        return taken(session, recordReport(report, { now, limit, damaged }))
      }),
  }
}
