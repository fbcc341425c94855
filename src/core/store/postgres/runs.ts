// Runs on PostgreSQL: replicas lease past each other with SKIP LOCKED.
import { changeRuns } from '../sql/runs.ts'
import { keyOf } from '../sql/run-rows.ts'
import { execute, postgresStatements, withinOf } from './statements.ts'
import { runReads } from '../sql/run-reads.ts'
import { takeIn } from '../sql/take-in.ts'
import type { Database } from './database.ts'
import type { Runs } from '../ports/runs.ts'

export function postgresRuns(db: Database): Runs {
  return {
    takeIn: async taking =>
      db.transaction(async (session, now) => execute(session, takeIn(taking, undefined, withinOf(session, now)))),
    transact: async (work, reports) =>
      db.transaction(async (session, now) =>
        execute(session, changeRuns(work, reports, undefined, withinOf(session, now))),
      ),
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
