// Views on SQLite.
import { StoreError } from '../../lib/fault.ts'
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
import type { Listings } from './listings.ts'
import type { TrendTaking } from './trend-taking.ts'
import type { Views } from '../ports/views.ts'

export function sqliteViews(db: Database, trends: TrendTaking, listings: Listings): Views {
  const ask: Ask = async (sql, values) => db.prepare(sql).all(...values)
  const askLists: Ask = async (sql, values) => {
    upToDate(listings)
    return ask(sql, values)
  }
  return {
    ...viewsOn(askLists, db.damaged),
    costs: { ...costsOn(ask), retained: retainedCostsOn(askLists, db.damaged) },
    judging: judgingOn(askLists, db.damaged),
    ...auditOn(ask, db.damaged),
    ...shownEventsOn(ask, db.damaged),
    trends: { ...trendsOn(ask, db.damaged), retained: retainedOn(askLists, db.damaged), ...trends },
  }
}

/** If nothing can be written, as on a full disk, the lists are shown as they are. */
function upToDate(listings: Listings): void {
  try {
    listings.catchUp()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
}
