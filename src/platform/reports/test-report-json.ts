// The test reports of a pipeline as parsed by the platform (`test_report`), for platforms that do not serve the reports themselves. Each suite is a
// job, by its name.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { maybe, wireList, wireText } from '../rest/wire-field.ts'
import { createTestCollector, type CollectorOptions, type ReportedCase } from './test-collector.ts'
import { ReportFault } from './report-fault.ts'
import type { TestsRead } from '../port/inside.ts'

/** All other statuses count as passed: `success`, and future ones. */
const results = { failed: 'fail', error: 'error', skipped: 'skip' } as const

const words = maybe(z.string())
const output = z
  .union([z.string(), z.object({ message: words, type: words })])
  .nullish()
  .catch(undefined)

const testCase = z.object({
  status: z.string().catch('success'),
  name: z.string().catch(''),
  classname: z.string().nullish().catch(undefined),
  file: maybe(wireText),
  execution_time: maybe(z.number().nonnegative()),
  system_output: output,
  stack_trace: words,
})

const testSuite = z.object({
  name: z.string(),
  total_time: maybe(z.number().nonnegative()),
  suite_error: maybe(wireText),
  test_cases: wireList.catch([]),
})

/** `GET /projects/:id/pipelines/:pipeline_id/test_report`. Its suites, and the cases of each, are parsed when they are read. */
export const testReport = z.object({ test_suites: wireList.catch([]) })
export type RestTestReport = z.infer<typeof testReport>

/** Suites or cases that are read in one turn of the event loop. */
const itemsPerTurn = 200

async function* inTurns(items: readonly unknown[]): AsyncGenerator {
  for (const [index, item] of items.entries()) {
    if (index % itemsPerTurn === itemsPerTurn - 1) await nextTurn()
    yield item
  }
}

/** The tests of all jobs of this name; undefined if there are none. */
export async function readTestReport(
  report: RestTestReport,
  job: string,
  options: CollectorOptions,
): Promise<TestsRead | undefined> {
  for await (const item of inTurns(report.test_suites)) {
    const suite = testSuite.safeParse(item).data
    if (suite?.name === job) return readSuite(suite, options)
  }
  return undefined
}

async function readSuite(suite: z.infer<typeof testSuite>, options: CollectorOptions): Promise<TestsRead> {
  const collector = createTestCollector(options)
  collector.beginSuite({ name: suite.name, seconds: suite.total_time })
  for await (const item of inTurns(suite.test_cases)) {
    const { data } = testCase.safeParse(item)
    if (data === undefined) continue
    const { name, classname, file, status, execution_time: seconds, system_output: said, stack_trace: trace } = data
    collector.case({
      ...{ name, classname: classname ?? '', file, seconds, isRerun: false, run: 0 },
      result: status in results ? results[status as keyof typeof results] : 'pass',
      words: wordsOf(said, trace),
    })
  }
  const { suite_error: error } = suite
  return collector.collected(
    error === undefined ? undefined : new ReportFault('suite_error', 'The platform cannot read it.'),
  )
}

function wordsOf(said: z.infer<typeof output>, trace: string | undefined): ReportedCase['words'] {
  const { message = '', type = '', ...rest } = typeof said === 'string' ? { text: said } : { text: '', ...said }
  return { type, message, stack: trace ?? rest.text }
}

/** The common name of parallel jobs, as on the platform: `rspec 2/5` and `deploy: [eu, blue]` are `rspec` and `deploy`. */
export function jobGroupOf(name: string): string {
  return name.slice(0, 1_000).replace(/(?:[\s:]{1,9}(?:\[[^\][]*\]|\d{1,9}[\s:/\\]{1,9}\d{1,9})){1,3}\s{0,9}$/, '')
}
