// Views on PostgreSQL.
import { shownEventsOn } from '../read-models/shown-events-sql.ts'
import { auditOn } from '../read-models/audit-sql.ts'
import { trendsOn } from '../read-models/trend-reads.ts'
import { placed } from './arrays.ts'
import { postgresTrendTaking } from './trend-taking.ts'
import { judgingOn } from '../read-models/judging-sql.ts'
import { costsOn } from '../read-models/costs-sql.ts'
import { retainedCostsOn } from '../read-models/retained-costs.ts'
import type { Ask } from '../read-models/ask.ts'
import { viewsOn } from '../read-models/views-sql.ts'
import type { Database } from './database.ts'
import type { Views } from '../ports/views.ts'

/** `maintenance`: the same database with a longer time-out. */
export function postgresViews(db: Database, maintenance: Database): Views {
  const ask: Ask = async (sql, values) => db.ask(placed(sql), values)
  return {
    ...viewsOn(ask, db.damaged),
    costs: { ...costsOn(ask), retained: retainedCostsOn(ask, db.damaged) },
    judging: judgingOn(ask, db.damaged),
    ...auditOn(ask, db.damaged),
    ...shownEventsOn(ask, db.damaged),
    trends: { ...trendsOn(ask, db.damaged), ...postgresTrendTaking(maintenance) },
  }
}
