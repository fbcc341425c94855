// What is remembered of tests, on PostgreSQL.
import { placed, postgresStatements } from './statements.ts'
import { recordReport, testMemoryStatements, type Steps } from '../sql/test-memory.ts'
import type { Database, Session } from './database.ts'
import type { TestMemory } from '../ports/test-memory.ts'

/** `limit`: bytes of one project. */
export function postgresTestMemory(db: Database, limit: number | undefined): TestMemory {
  const { damaged } = db
  return {
    ...testMemoryStatements(postgresStatements(db)),
    record: async report =>
      db.transaction(async (session, now) => {
        // Two reports that are written at the same time would not see each other.
        const name = `tests ${report.instance} ${report.projectId}`
        await session.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
        return taken(session, recordReport(report, { now, limit, damaged }))
      }),
  }
}

async function taken<T>(session: Session, steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    const [sql, values] = step.value
    step = steps.next(await session.query(placed(sql), values))
  }
  return step.value
}
