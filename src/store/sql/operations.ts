// The operations of a store that are written once for both databases.
import { bringBack } from './too-far-ahead.ts'
import { changes } from './changes.ts'
import { costsOn } from '../read-models/costs-sql.ts'
import { deployments } from './deployments.ts'
import { enrichmentQueue } from './enrichment-queue.ts'
import { eventsOn } from '../read-models/events-sql.ts'
import { incidents } from './incidents.ts'
import { jobReads } from './job-reads.ts'
import { judgingOn } from '../read-models/judging-sql.ts'
import { latestOn } from '../read-models/latest-sql.ts'
import { leasesAndCounters } from './leases.ts'
import { repositories } from './repositories.ts'
import { retainedCostsOn } from '../read-models/retained-costs.ts'
import { testMemory } from './test-memory.ts'
import { totals } from './totals.ts'
import { trendsOn } from '../read-models/trend-reads.ts'
import { viewsOn } from '../read-models/views-sql.ts'
import type { SharedStore, StoreOptions } from '../ports/store.ts'
import type { Statements } from './statements.ts'
import type { TrendViews } from '../ports/trends.ts'

/** `taking`: how the figures over time are updated. */
export function operations(
  sql: Statements,
  options: Pick<StoreOptions, 'testMemory'>,
  taking: Pick<TrendViews, 'readAhead' | 'takeIn' | 'prune'>,
) {
  const { all, damaged } = sql
  return {
    enrichment: enrichmentQueue(sql),
    jobReads: jobReads(sql),
    repositories: repositories(sql),
    ...leasesAndCounters(sql),
    totals: totals(sql),
    tests: testMemory(sql, options.testMemory),
    deployments: deployments(sql),
    changes: changes(sql),
    incidents: incidents(sql),
    views: {
      ...viewsOn(all, damaged),
      costs: { ...costsOn(all), retained: retainedCostsOn(all, damaged) },
      judging: judgingOn(all, damaged),
      ...eventsOn(all, damaged),
      trends: { ...trendsOn(all, damaged), ...taking },
    },
    latest: latestOn(sql),
    damaged,
    now: async () => sql.now(),
    bringBack: async () => bringBack(sql),
  } satisfies Partial<SharedStore>
}
