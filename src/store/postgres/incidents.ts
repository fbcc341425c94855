// Incidents on PostgreSQL.
import { countIncident, incidentStatements, lockOfIncident, namedIncident, writeIncidents } from '../sql/incidents.ts'
import { lockNames, taken } from './steps.ts'
import { moveTotals } from './totals.ts'
import { postgresStatements } from './statements.ts'
import type { Database, Session } from './database.ts'
import type { Incidents, ReportedIncident } from '../ports/incidents.ts'
import type { Millis } from '../../model/instant.ts'

export function postgresIncidents(db: Database): Incidents {
  return {
    ...incidentStatements(postgresStatements(db)),
    count: async (id, decide) =>
      db.transaction(async (session, now) => {
        const name = await taken(session, namedIncident(id))
        if (name === undefined) return undefined
        await lockNames(session, [name])
        const { figures, counted } = await taken(session, countIncident(id, now, session.damaged, decide))
        if (counted?.totals !== undefined) await moveTotals(session, [counted.totals], now)
        return figures
      }),
  }
}

/** Within a transaction, after everything else that locks. */
export async function addIncidents(
  session: Session,
  reported: readonly ReportedIncident[],
  now: Millis,
): Promise<void> {
  await lockNames(
    session,
    reported.map(({ incident }) => lockOfIncident(incident)),
  )
  await taken(session, writeIncidents(reported, now, session.damaged))
}
