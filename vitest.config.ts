// The configuration of all tests. They run in a few forked processes, each of which runs one file after another.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { configDefaults, defineConfig } from 'vitest/config'
import { compiled } from './test/shipped.ts'
import { isFull } from './test/full.ts'

/** Folders whose tests start, kill or attack whole daemons. */
const ofDaemons = ['attack', 'bounds', 'crash', 'demo', 'e2e']
/** The slowest files in `npm run test:full`, the slowest first. They take from half an hour to three minutes. */
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
/** The slowest files of all folders, the slowest first. */
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
/** The files that `npm test` leaves out and `npm run test:slow` runs. They take three quarters of the time of all tests. CI runs both. */
const slow = [...slowest, ...ofDaemons.map(name => `test/${name}/**/*.test.ts`)]
/** A file that contains both quick and slow tests. */
const inBoth = 'test/without.test.ts'
/** Matches tests that need whole daemons, packages or browsers, and tests that wait for time to pass. They start right after the slowest files. */
const whole =
  /\/test\/(release|bounds|crash|e2e|attack|demo|features\/(backfill|gcpe|mcp|notifications|tokens)|features\/audit\/(backfill|daemon|page)|features\/regressions\/(hidden|pages|past|stores)|features\/inventory\/(commands|components|daemon)|console|core\/(store\/(silence|postgres|replicas)|find\/poller|send\/flow))/

/** Which part of the tests to run, `quick` or `slow`. If undefined, all tests run. */
const part = process.env.PIPESPAN_TEST_PART
const minute = 60_000
/** The timeout of a test in ms: a minute for quick tests, even on a busy machine, three minutes for slow tests, and half an hour for the long forms. */
const timeout = isFull ? 30 * minute : part === 'quick' ? minute : 3 * minute

/** Starts the slowest files first. Otherwise one of them would still be running alone after all others have ended. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const slow = slowest.findIndex(name => moduleId.endsWith(`/${name}`))
      return slow === -1 ? slowest.length + (whole.test(moduleId) ? 0 : 1) : slow
    }
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

// The compile cache of the test processes and of all processes that they start.
process.env.NODE_COMPILE_CACHE = compiled

export default defineConfig({
  test: {
    include: part === 'slow' ? [...slow, inBoth] : ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(part === 'quick' ? slow : [])],
    globalSetup: 'test/before-all.ts',
    // Tests run in processes, because signals and the working directory belong to a process. The files of a process share their modules: loading them
    // for each file would take half of the processor time. The only state that modules keep between files is the list of secrets to redact.
    pool: 'forks',
    isolate: false,
    // Tests of daemons wait half of the time, so five workers keep two processors busy.
    maxWorkers: 5,
    testTimeout: timeout,
    hookTimeout: timeout,
    // This timeout is shorter than that of the test, so that a condition that is never met fails with its own message. The interval is long, because
    // the condition often runs a command or requests a page.
    expect: { poll: { timeout: (timeout / 6) * 5, interval: 100 } },
    sequence: { sequencer: SlowFirst },
  },
})
