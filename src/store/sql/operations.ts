// The operations of a store that are written once for both databases.
import { bringBack } from './too-far-ahead.ts'
import { changes } from './changes.ts'
import { deployments } from './deployments.ts'
import { enrichmentQueue } from './enrichment-queue.ts'
import { incidents } from './incidents.ts'
import { jobReads } from './job-reads.ts'
import { latestOn } from '../read-models/latest-sql.ts'
import { leasesAndCounters } from './leases.ts'
import { quarantine } from './quarantine.ts'
import { repositories } from './repositories.ts'
import { testMemory } from './test-memory.ts'
import { totals } from './totals.ts'
import { unbounded } from './reading.ts'
import { viewsWithin } from '../read-models/reads.ts'
import { PipelineNames } from '../read-models/pipeline-names.ts'
import { pruneFigures, takeUncounted } from '../read-models/trend-steps.ts'
import type { SharedStore, StoreOptions } from '../ports/store.ts'
import type { Statements } from './statements.ts'
import type { TrendViews } from '../ports/trends.ts'

export function operations(sql: Statements, options: Pick<StoreOptions, 'testMemory'>) {
  const { damaged } = sql
  const names = new PipelineNames()
  const taking: Pick<TrendViews, 'takeIn' | 'prune'> = {
    takeIn: async limit => {
      // Checked first, so that an idle daemon begins no transactions, which would be synced.
      const [some] = await sql.all('SELECT 1 AS some FROM uncounted_chunks LIMIT 1')
      return some === undefined ? 0 : sql.transaction(within => takeUncounted(limit, names, within))
    },
    prune: async keep => sql.transaction(within => pruneFigures(keep, within)),
  }
  const views = viewsWithin(unbounded(sql))
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
    views: { ...views, trends: { ...views.trends, ...taking } },
    latest: latestOn(sql),
    quarantine: quarantine(sql),
    damaged,
    now: async () => sql.now(),
    bringBack: async () => bringBack(sql),
  } satisfies Partial<SharedStore>
}
