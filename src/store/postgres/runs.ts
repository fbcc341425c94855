// Runs on PostgreSQL: replicas lease past each other with SKIP LOCKED.
import { changeRuns } from '../sql/runs.ts'
import { keyOf } from '../sql/run-rows.ts'
import { execute, postgresStatements, withinOf } from './statements.ts'
import { runReads } from '../sql/run-reads.ts'
import type { Database, Session } from './database.ts'
import type { Runs, Processed } from '../ports/runs.ts'

export function postgresRuns(db: Database): Runs {
  return {
    transact: async (work, processed) => {
      try {
        await db.transaction(async (session, now) => {
          await erase(session, processed)
          await execute(session, changeRuns(work, processed, undefined, withinOf(session, now)))
        })
        return true
      } catch (error) {
        if (error instanceof Lost) return false
        throw error
      }
    },
    takeDue: async (limit, leaseMs) => {
      const rows = await db.transaction(async (session, now) =>
        session.query(
          `UPDATE runs SET due_at = $1::bigint
           WHERE id IN (SELECT id FROM runs WHERE due_at <= $2::bigint ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
           RETURNING instance, pipeline_id`,
          [now + leaseMs, now, limit],
        ),
      )
      return rows.map(keyOf)
    },
    dueIn: async () => db.dueIn('SELECT min(due_at) AS due FROM runs WHERE due_at IS NOT NULL'),
    ...runReads(postgresStatements(db)),
  }
}

async function erase(session: Session, processed: Processed | undefined): Promise<void> {
  if (processed === undefined) return
  const gone = await session.query('DELETE FROM inbox WHERE id = ANY ($1) AND lease = $2 RETURNING id', [
    processed.ids,
    processed.token,
  ])
  if (gone.length !== processed.ids.length) throw new Lost()
}

/** Another replica has the deliveries: the transaction is rolled back. */
class Lost extends Error {}
