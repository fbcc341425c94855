// The operations of a store that are written once for both databases.
import { bringBack } from './too-far-ahead.ts'
import { enrichmentQueue } from './enrichment-queue.ts'
import { leasesAndCounters } from './leases.ts'
import { quarantine } from './quarantine.ts'
import { repositories } from './repositories.ts'
import { testMemory } from './test-memory.ts'
import { totals } from './totals.ts'
import { unbounded } from './reading.ts'
import { viewsWithin } from '../read-models/reads.ts'
import type { SharedStore, StoreOptions } from '../ports/store.ts'
import type { Statements } from './statements.ts'

export function operations(sql: Statements, options: Pick<StoreOptions, 'testMemory' | 'parts'>) {
  const { damaged } = sql
  const { parts = [] } = options
  const waits = parts.flatMap(one => one.waits ?? [])
  return {
    enrichment: enrichmentQueue(sql),
    repositories: repositories(sql),
    ...leasesAndCounters(sql),
    totals: totals(sql),
    tests: testMemory(sql, options.testMemory),
    parts,
    on: make => make(sql),
    views: viewsWithin(unbounded(sql), parts),
    quarantine: quarantine(sql),
    damaged,
    now: async () => sql.now(),
    bringBack: async () => bringBack(sql, waits),
  } satisfies Partial<SharedStore>
}
