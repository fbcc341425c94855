// Changes (merge requests) on SQLite.
import { changeStatements } from '../sql/change-reads.ts'
import { countChange, writeChanges } from '../sql/changes.ts'
import { moveTotals } from './totals.ts'
import { sqliteStatements } from './statements.ts'
import { taken } from './steps.ts'
import type { Changes, ReportedChange } from '../ports/changes.ts'
import type { Database } from './database.ts'
import type { Millis } from '../../model/instant.ts'
import type { RecentChunks } from './recent-chunks.ts'

export function sqliteChanges(db: Database, recent: RecentChunks): Changes {
  return {
    ...changeStatements(sqliteStatements(db)),
    count: async (id, decide) =>
      db.transaction(() => {
        const now = db.now()
        const done = taken(db, countChange(id, now, db.damaged, decide))
        if (done === undefined) return undefined
        const { counted, written, figures } = done
        if (counted.totals !== undefined) moveTotals(db, [counted.totals], now)
        db.afterCommit(() => recent.remember(written))
        return figures
      }),
  }
}

/** Within a transaction. */
export function addChanges(db: Database, reported: readonly ReportedChange[], now: Millis): void {
  taken(db, writeChanges(reported, now, db.damaged))
}
