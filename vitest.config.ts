// Tests run in forked processes that load what they test once for many files: no file leaves anything behind that another could see.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'

/** Whole daemons, packages and browsers: they take longest. */
const long = /\/test\/(release|bounds|crash|e2e|demo|tokens|pages\/browser)/

/** What takes longest begins first: else one of them still runs alone when all others are done. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLater = ({ moduleId }: TestSpecification): number => (long.test(moduleId) ? 0 : 1)
    return (await super.sort(files)).toSorted((a, b) => isLater(a) - isLater(b))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    // Daemons under test wait as much as they work: a third worker fills two processors.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongFirst },
  },
})
