// Tests run in a few forked processes, file after file.
import path from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { defineConfig, type Plugin } from 'vitest/config'
import { compiled, shippedModules } from './test/shipped.ts'
import { isFull } from './test/full.ts'

/** What takes longest, the longest first; then whole daemons, packages and browsers, and what waits for time to pass; then all others. */
const longest = [
  ...['pages/browser', 'e2e/totals', 'crash/inside-jobs', 'bounds/postgres-restart', 'store/postgres', 'store/silence'],
  ...['crash/points', 'crash/counted', 'e2e/metrics', 'e2e/outage', 'e2e/events', 'bounds/disk-full', 'demo/demo'],
  ...['attack/crash-loop', 'e2e/start-stop', 'store/sqlite', 'store/under-way', 'docs-commands', 'e2e/clock-ahead'],
].map(name => new RegExp(`/test/${name}\\.test\\.ts$`))
const whole =
  /\/test\/(release|bounds|crash|e2e|attack|demo|tokens|pages|store\/(silence|postgres|replicas)|discovery\/poller|export\/flow)/
const long = [...longest, whole, /./]

/** What takes longest begins first: else one of them still runs alone when all others are done. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => long.findIndex(one => one.test(moduleId))
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

/**
 * Daemons within a test's own process begin the ingress thread that ships, with a third of the processor time of one that loads all of its sources.
 * The long form runs the sources.
 */
const shippedThread: Plugin = {
  name: 'shipped-ingress-thread',
  transform: (code, id) =>
    id.endsWith('/src/app/ingress-thread-handle.ts')
      ? code.replace(/new URL\(`\.\/ingress-thread[^)]*\)/, `'${path.join(shippedModules, 'ingress-thread.js')}'`)
      : undefined,
}

// Of the processes of tests and of all that they start.
process.env.NODE_COMPILE_CACHE = compiled

export default defineConfig({
  plugins: isFull ? [] : [shippedThread],
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/before-all.ts',
    // Signals and working folders are a process's own. Modules are not a file's own: half of the processor time would go into loading them,
    // and all that they remember from one file to the next is which secrets to keep out of texts.
    pool: 'forks',
    isolate: false,
    // Daemons under test wait as much as they work: five workers fill two processors.
    maxWorkers: 5,
    // What is awaited may come late where others work: only what never comes fails.
    testTimeout: 900_000,
    hookTimeout: 900_000,
    // What is asked again and again is often a command or a page: less often costs less.
    expect: { poll: { timeout: 300_000, interval: 100 } },
    sequence: { sequencer: LongFirst },
  },
})
