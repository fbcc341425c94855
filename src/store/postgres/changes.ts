// Changes (merge requests) on PostgreSQL.
import { changeStatements } from '../sql/change-reads.ts'
import { countChange, lockOfChange, lockOfDue, writeChanges } from '../sql/changes.ts'
import { lockNames, taken } from './steps.ts'
import { moveTotals } from './totals.ts'
import { postgresStatements } from './statements.ts'
import type { Changes, ReportedChange } from '../ports/changes.ts'
import type { Database, Session } from './database.ts'
import type { Millis } from '../../model/instant.ts'

export function postgresChanges(db: Database): Changes {
  return {
    ...changeStatements(postgresStatements(db)),
    count: async (id, decide) =>
      db.transaction(async (session, now) => {
        // All others who write or count it wait.
        const lock = await taken(session, lockOfDue(id))
        if (lock === undefined) return undefined
        await lockNames(session, [lock])
        const done = await taken(session, countChange(id, now, session.damaged, decide))
        if (done === undefined) return undefined
        const { counted, figures } = done
        if (counted.totals !== undefined) await moveTotals(session, [counted.totals], now)
        return figures
      }),
  }
}

/** Within a transaction, after everything that locks rows of runs. */
export async function addChanges(session: Session, reported: readonly ReportedChange[], now: Millis): Promise<void> {
  await lockNames(
    session,
    reported.map(({ change }) => lockOfChange(change)),
  )
  await taken(session, writeChanges(reported, now, session.damaged))
}
