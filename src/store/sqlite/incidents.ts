// Incidents on SQLite.
import { countIncident, incidentStatements, writeIncidents } from '../sql/incidents.ts'
import { moveTotals } from './totals.ts'
import { sqliteStatements } from './statements.ts'
import { taken } from './steps.ts'
import type { Database } from './database.ts'
import type { Incidents, ReportedIncident } from '../ports/incidents.ts'
import type { Millis } from '../../model/instant.ts'
import type { RecentChunks } from './recent-chunks.ts'

export function sqliteIncidents(db: Database, recent: RecentChunks): Incidents {
  return {
    ...incidentStatements(sqliteStatements(db)),
    count: async (id, decide) =>
      db.transaction(() => {
        const now = db.now()
        const { figures, counted, written } = taken(db, countIncident(id, now, db.damaged, decide))
        if (counted?.totals !== undefined) moveTotals(db, [counted.totals], now)
        db.afterCommit(() => recent.remember(written))
        return figures
      }),
  }
}

/** Within a transaction. */
export function addIncidents(db: Database, reported: readonly ReportedIncident[], now: Millis): void {
  taken(db, writeIncidents(reported, now, db.damaged))
}
