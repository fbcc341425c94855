// Tests run in forked processes, so that a test's SQLite files, signals and known secrets are its own.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { configDefaults, defineConfig } from 'vitest/config'

/** Whole daemons, packages and browsers: they take longest. */
const long = /\/test\/(release|bounds|crash|e2e|attack|demo|tokens|pages\/browser)/

/** What takes longest begins first: else one of them still runs alone when all others are done. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLater = ({ moduleId }: TestSpecification): number => (long.test(moduleId) ? 0 : 1)
    return (await super.sort(files)).toSorted((a, b) => isLater(a) - isLater(b))
  }
}

/**
 * Files that share processes, as half of their time would go into loading: of rooms whose code keeps nothing in its modules, and tests
 * of whole daemons, which are processes of their own. The others know secrets, hold sessions or open stores in their own process.
 */
const shared = [
  ...[
    'model',
    'platform',
    'processing',
    'discovery',
    'enrichment',
    'telemetry',
    'export',
    'flow',
    'config',
    'lib',
    'web',
  ],
  ...['self-telemetry', 'deploy', 'bench', 'demo', 'release', 'e2e', 'crash', 'bounds', 'attack'],
].map(room => `test/${room}/**/*.test.ts`)

export default defineConfig({
  test: {
    pool: 'forks',
    globalSetup: 'test/before-all.ts',
    // Daemons under test wait as much as they work: four workers fill two processors.
    maxWorkers: 4,
    // What is awaited may come late where others work: only what never comes fails.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    sequence: { sequencer: LongFirst },
    projects: [
      { extends: true, test: { name: 'shared', include: shared, isolate: false } },
      {
        extends: true,
        test: { name: 'isolated', include: ['test/**/*.test.ts'], exclude: [...configDefaults.exclude, ...shared] },
      },
    ],
  },
})
