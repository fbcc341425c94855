// Tests run in a few forked processes, file after file.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig } from 'vitest/config'
import { compiled } from './test/shipped.ts'

/** Whole daemons, packages and browsers: they take longest. And what waits for time to pass. */
const long =
  /\/test\/(release|bounds|crash|e2e|attack|demo|tokens|pages\/browser|store\/(silence|postgres|replicas)|discovery\/poller|export\/flow)/

/** What takes longest begins first: else one of them still runs alone when all others are done. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLater = ({ moduleId }: TestSpecification): number => (long.test(moduleId) ? 0 : 1)
    return (await super.sort(files)).toSorted((a, b) => isLater(a) - isLater(b))
  }
}

// Of the processes of tests and of all that they start.
process.env.NODE_COMPILE_CACHE = compiled

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/before-all.ts',
    // Signals and working folders are a process's own. Modules are not a file's own: half of the processor time would go into loading them,
    // and all that they remember from one file to the next is which secrets to keep out of texts.
    pool: 'forks',
    isolate: false,
    // Daemons under test wait as much as they work: four workers fill two processors.
    maxWorkers: 4,
    // What is awaited may come late where others work: only what never comes fails.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    // What is asked again and again is often a command or a page: less often costs less.
    expect: { poll: { timeout: 300_000, interval: 100 } },
    sequence: { sequencer: LongFirst },
  },
})
