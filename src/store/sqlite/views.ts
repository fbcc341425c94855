// Views on SQLite.
import { auditOn } from '../read-models/audit-sql.ts'
import { shownEventsOn } from '../read-models/shown-events-sql.ts'
import { retainedOn } from '../read-models/retained-trends.ts'
import { trendsOn } from '../read-models/trend-reads.ts'
import { judgingOn } from '../read-models/judging-sql.ts'
import { costsOn } from '../read-models/costs-sql.ts'
import { retainedCostsOn } from '../read-models/retained-costs.ts'
import type { Ask } from '../read-models/ask.ts'
import { viewsOn } from '../read-models/views-sql.ts'
import type { Database } from './database.ts'
import type { TrendTaking } from './trend-taking.ts'
import type { Views } from '../ports/views.ts'

export function sqliteViews(db: Database, trends: TrendTaking): Views {
  const ask: Ask = async (sql, values) => db.prepare(sql).all(...values)
  return {
    ...viewsOn(ask, db.damaged),
    costs: { ...costsOn(ask), retained: retainedCostsOn(ask, db.damaged) },
    judging: judgingOn(ask, db.damaged),
    ...auditOn(ask, db.damaged),
    ...shownEventsOn(ask, db.damaged),
    trends: { ...trendsOn(ask, db.damaged), retained: retainedOn(ask, db.damaged), ...trends },
  }
}
