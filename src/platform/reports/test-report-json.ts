// Reads the test report of a pipeline as the platform has parsed it (`test_report`). It is used for platforms that do not serve test reports of
// single jobs. Each suite in the report is named after a job.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { maybe, wireList, wireText } from '../rest/wire-field.ts'
import { createTestCollector, type CollectorOptions, type ReportedCase } from './test-collector.ts'
import { isFailed } from './suite-cases.ts'
import { ReportFault } from './report-fault.ts'
import type { TestsRead } from '../port/inside.ts'

/** Statuses of tests that did not pass. Every other status counts as passed: `success`, and any status that a future platform may add. */
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
  failed_count: maybe(z.number().nonnegative()),
  error_count: maybe(z.number().nonnegative()),
  suite_error: maybe(wireText),
  test_cases: wireList.catch([]),
})

/** The response of `GET /projects/:id/pipelines/:pipeline_id/test_report`. Suites and their cases are parsed only when they are read. */
export const testReport = z.object({ test_suites: wireList.catch([]) })
export type RestTestReport = z.infer<typeof testReport>

/** Number of suites or cases that are read in one turn of the event loop. */
const itemsPerTurn = 200

async function* inTurns(items: readonly unknown[]): AsyncGenerator {
  for (const [index, item] of items.entries()) {
    if (index % itemsPerTurn === itemsPerTurn - 1) await nextTurn()
    yield item
  }
}

/** Returns the tests of the suite named after this job; undefined if there is no such suite. */
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
  const { failed_count: failures = 0, error_count: errors = 0 } = suite
  collector.beginSuite({ name: suite.name, seconds: suite.total_time, failures: failures + errors })
  for await (const item of inTurns(suite.test_cases)) {
    const { data } = testCase.safeParse(item)
    if (data === undefined) continue
    const {
      name,
      classname,
      file,
      status,
      execution_time: seconds,
      system_output: systemOutput,
      stack_trace: trace,
    } = data
    const result = Object.hasOwn(results, status) ? results[status as keyof typeof results] : 'pass'
    collector.case({
      ...{ name, classname: classname ?? '', file, seconds, result, failures: isFailed(result) ? 1 : 0, run: 0 },
      words: wordsOf(systemOutput, trace),
    })
  }
  const { suite_error: error } = suite
  return collector.collected(
    error === undefined ? undefined : new ReportFault('suite_error', 'The platform cannot read the report.'),
  )
}

function wordsOf(systemOutput: z.infer<typeof output>, trace: string | undefined): ReportedCase['words'] {
  const {
    message = '',
    type = '',
    ...rest
  } = typeof systemOutput === 'string' ? { text: systemOutput } : { text: '', ...systemOutput }
  return { type, message, stack: trace ?? rest.text }
}
