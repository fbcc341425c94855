// Reads the stored test results without a scope.
import { testMemory, type TestMemory } from '../../../src/features/job-insides/test-memory.ts'
import { testReads, type TestReads } from '../../../src/features/job-insides/test-reads.ts'
import { unbounded } from '../../../src/core/store/sql/reading.ts'
import type { Store } from '../../../src/core/store/ports/store.ts'

export function testsOf(store: Pick<Store, 'on'>, maxBytes?: number): TestMemory & TestReads {
  return store.on(sql => ({ ...testMemory(sql, maxBytes), ...testReads(unbounded(sql)) }))
}
