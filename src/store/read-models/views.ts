// All views of a store, for both databases.
import { auditOn } from './audit-sql.ts'
import { costsOn } from './costs-sql.ts'
import { judgingOn } from './judging-sql.ts'
import { retainedCostsOn } from './retained-costs.ts'
import { shownEventsOn } from './shown-events-sql.ts'
import { trendsOn } from './trend-reads.ts'
import { viewsOn } from './views-sql.ts'
import type { Ask } from './ask.ts'
import type { Statements } from '../sql/statements.ts'
import type { TrendViews } from '../ports/trends.ts'
import type { Views } from '../ports/views.ts'

export function views({ all, damaged }: Statements, taking: Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'>): Views {
  const ask: Ask = async (sql, values) => all(sql, values)
  return {
    ...viewsOn(ask, damaged),
    costs: { ...costsOn(ask), retained: retainedCostsOn(ask, damaged) },
    judging: judgingOn(ask, damaged),
    ...auditOn(ask, damaged),
    ...shownEventsOn(ask, damaged),
    trends: { ...trendsOn(ask, damaged), ...taking },
  }
}
