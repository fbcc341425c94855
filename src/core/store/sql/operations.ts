// The operations of a store that are written once for both databases.
import { bringBack } from './too-far-ahead.ts'
import { enrichmentQueue } from './enrichment-queue.ts'
import { leasesAndCounters } from './leases.ts'
import { quarantine } from './quarantine.ts'
import { repositories } from './repositories.ts'
import { totals } from './totals.ts'
import { unbounded } from './reading.ts'
import { viewsWithin } from '../read-models/reads.ts'
import type { SharedStore, StoreOptions } from '../ports/store.ts'
import type { Statements } from './statements.ts'

export function operations(sql: Statements, options: Pick<StoreOptions, 'parts'>) {
  const { damaged } = sql
  const { parts = [] } = options
  return {
    enrichment: enrichmentQueue(sql),
    repositories: repositories(sql),
    ...leasesAndCounters(sql),
    totals: totals(sql),
    parts,
    on: make => make(sql),
    views: viewsWithin(unbounded(sql), parts),
    quarantine: quarantine(sql),
    damaged,
    now: async () => sql.now(),
    bringBack: async () => bringBack(sql, parts),
  } satisfies Partial<SharedStore>
}
