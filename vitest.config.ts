// Tests run in a few forked processes, file after file.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { configDefaults, defineConfig } from 'vitest/config'
import { compiled } from './test/shipped.ts'
import { isFull } from './test/full.ts'

/** Folders whose tests run whole daemons, kill them, or attack them. */
const ofDaemons = ['attack', 'bounds', 'crash', 'demo', 'e2e']
/** The slowest files of the long forms, the slowest first: from half an hour down to three minutes. */
const slowestWhenFull = [
  'bounds/backlog',
  'crash/inside-jobs',
  'e2e/events',
  'daemon/configuration/valid-starts',
  'crash/points-postgres',
  'e2e/load',
  'without',
  'deploy/alerts',
  'crash/points',
  'bounds/memory',
  'features/deployments/deployment-year',
  'crash/commands',
  'crash/kill',
]
/** The slowest files, of all folders, the slowest first. */
const slowest = [
  ...(isFull ? slowestWhenFull : []),
  'features/notifications/daemon',
  'console/busy',
  'console/browser',
  'console/operating',
  'core/find/fair-polling',
  'console/large',
  'core/store/postgres',
  'features/trends/figures',
  'features/trends/figures-queries',
  'core/find/poller',
  'core/find/poller-errors',
  'core/find/poller-families',
  'core/find/poller-large',
  'demo/demo',
  'core/store/sqlite',
  'features/regressions/stores',
  'console/open-page',
  'core/store/silence',
  'e2e/outage',
  'features/notifications/killed-daemon',
  'e2e/reload',
  'commands/try',
  'features/inventory/daemon',
  'e2e/start-stop',
  'crash/inside-jobs',
  'e2e/several-platforms',
  'e2e/totals',
  'crash/points',
  'e2e/past-pipelines',
  'daemon/configuration/valid-starts',
  'e2e/events',
  'e2e/metrics',
  'deploy/kubernetes',
  'console/longest',
  'features/inventory/refused-requests',
  'features/inventory/inventory',
  'features/inventory/feature-flags',
  'core/find/endless-lists',
  'core/complete/refused-details',
  'core/find/absent-fields',
  'deploy/helm',
  'bounds/disk-full',
  'e2e/backend',
  'e2e/locked-store',
  'lib/small-heap',
  'platform/reports/reading-turns',
  'bounds/memory',
  'lib/linear-redaction',
  'crash/counted',
  'features/job-insides/job-log',
  'bounds/postgres-restart',
  'features/tokens/kill',
  'features/tokens/under-load',
  'features/regressions/pages',
  'features/regressions/past',
  'features/deployments/deployment-year',
  'features/backfill/past-pipelines',
  'console/access',
  'core/store/replicas',
  'daemon/configuration/round-trip',
  'daemon/configuration/reload-options',
  'features/job-insides/report-reader',
  'commands/doctor',
  'commands/doctor-daemon',
  'commands/doctor-platform',
  'features/audit/audit',
  'features/audit/failing-sources',
  'platform/reports/junit',
  'core/store/scope',
  'core/store/scope-documents',
  'features/deployments/timeline',
  'features/trends/query-plan',
  'features/trends/scope',
  'daemon/configuration/reload-protections',
  'console/timeline',
  'features/regressions/find-regressions',
  'platform/reports/other-reports',
  'fuzz/configuration',
  'features/gcpe/newest',
  'features/mcp/shipped',
  'deploy/addresses',
  'console/large-waterfall',
  'features/deployments/behind',
  'deploy/alerts',
  'features/tokens/refusals',
  'release/release',
  'core/send/flow',
  'core/send/export-leases',
  'core/store/copy',
].map(name => `test/${name}.test.ts`)
/** What `npm test` leaves to `npm run test:slow`: three quarters of the time of all. CI runs both. */
const slow = [...slowest, ...ofDaemons.map(name => `test/${name}/**/*.test.ts`)]
/** Has quick tests, too. */
const inBoth = 'test/without.test.ts'
/** Whole daemons, packages and browsers, and what waits for time to pass. */
const whole =
  /\/test\/(release|bounds|crash|e2e|attack|demo|features\/(backfill|gcpe|mcp|notifications|tokens)|features\/audit\/(backfill|daemon|page)|features\/regressions\/(hidden|pages|past|stores)|features\/inventory\/(commands|components|daemon)|console|core\/(store\/(silence|postgres|replicas)|find\/poller|send\/flow))/

/** Undefined: all. */
const part = process.env.PIPESPAN_TEST_PART
const minute = 60_000
/** A test that hangs fails after a minute, beside two busy processes too; tests of whole daemons get three, and the long forms half an hour. */
const timeout = isFull ? 30 * minute : part === 'quick' ? minute : 3 * minute

/** What takes longest begins first: else one of them still runs alone when all others are done. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const slow = slowest.findIndex(name => moduleId.endsWith(`/${name}`))
      return slow === -1 ? slowest.length + (whole.test(moduleId) ? 0 : 1) : slow
    }
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

// Of the processes of tests and of all that they start.
process.env.NODE_COMPILE_CACHE = compiled

export default defineConfig({
  test: {
    include: part === 'slow' ? [...slow, inBoth] : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(part === 'quick' ? slow : [])],
    globalSetup: 'test/before-all.ts',
    // Signals and working folders are a process's own. Modules are not a file's own: half of the processor time would go into loading them,
    // and all that they remember from one file to the next is which secrets to keep out of texts.
    pool: 'forks',
    isolate: false,
    // Daemons under test wait as much as they work: five workers fill two processors.
    maxWorkers: 5,
    testTimeout: timeout,
    hookTimeout: timeout,
    // A condition that never comes true fails before its test does, with a message of its own. What is asked again and again is often a command or a page:
    // less often costs less.
    expect: { poll: { timeout: (timeout / 6) * 5, interval: 100 } },
    sequence: { sequencer: SlowFirst },
  },
})
