// Tests run in forked processes, so that a test's SQLite files and signals are its own.
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
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    sequence: { sequencer: LongFirst },
  },
})
