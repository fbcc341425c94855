// The attributes of a job's tests: for the log records of its report, failures and flaky tests, and for the spans of suites and cases.
import {
  ATTR_CODE_FILE_PATH,
  ATTR_CODE_LINE_NUMBER,
  ATTR_EXCEPTION_MESSAGE,
  ATTR_EXCEPTION_STACKTRACE,
  ATTR_EXCEPTION_TYPE,
} from '@opentelemetry/semantic-conventions'
import { runId, taskName, type OfJob } from './job-attributes.ts'
import { milliseconds, type AttributeRow } from '../../../core/telemetry/mapping/row.ts'
import {
  ATTR_TEST_CASE_NAME,
  ATTR_TEST_CASE_RESULT_STATUS,
  ATTR_TEST_SUITE_NAME,
  ATTR_TEST_SUITE_RUN_STATUS,
} from '../../../core/telemetry/mapping/semconv.ts'
import type { FlakyTest, TestSummary } from '../../../model/job-tests.ts'
import type { TestFailure, TestResult } from '../../../model/test-report.ts'
import type { TestSpan } from '../../../model/test-layout.ts'

/** The event names of test records. `platform.` is replaced by the profile's namespace. */
export const testEvents = {
  report: 'platform.test.report',
  failure: 'platform.test.case.failure',
  flaky: 'platform.test.case.flaky',
} as const

const recurs = true
const always = 'always'
const known = 'known'

// prettier-ignore
export const testReportAttributes: readonly AttributeRow<OfJob & { readonly summary: TestSummary }>[] = [
  runId,
  taskName,
  { keys: ['platform.test.total'], type: 'int', when: always, note: 'a test counts once, however often the report says that it ran; cases with the same name are separate tests', value: ({ summary }) => summary.totals.total },
  { keys: ['platform.test.passed'], type: 'int', when: always, value: ({ summary }) => summary.totals.passed },
  { keys: ['platform.test.failed'], type: 'int', when: always, value: ({ summary }) => summary.totals.failed },
  { keys: ['platform.test.errored'], type: 'int', when: always, value: ({ summary }) => summary.totals.errored },
  { keys: ['platform.test.skipped'], type: 'int', when: always, value: ({ summary }) => summary.totals.skipped },
  { keys: ['platform.test.flaky'], type: 'int', when: always, note: 'also counted in the other totals: failed in one run and passed in another', value: ({ summary }) => summary.totals.flaky },
  { keys: ['platform.test.duration'], type: 'int', when: always, note: 'ms; sum over the suites', value: ({ summary }) => milliseconds(summary.totals.seconds) },
  { keys: ['platform.test.report.fault'], recurs, type: 'string', when: 'it could not be read to its end', note: 'why, below', value: ({ summary }) => summary.fault?.reason },
  { keys: ['platform.test.cases.dropped'], type: 'int', when: 'above 0', note: 'cases beyond the first 100,000', value: ({ summary }) => summary.dropped.cases || undefined },
  { keys: ['platform.test.times.dropped'], type: 'int', when: 'above 0', note: 'implausible times of suites and cases: more than ten times the duration of the job', value: ({ summary }) => (summary.dropped.times === 0 ? undefined : summary.dropped.times) },
  { keys: ['platform.test.failures.dropped'], type: 'int', when: 'above 0', note: 'failures without a record of their own', value: ({ summary }) => summary.dropped.failures || undefined },
]

// prettier-ignore
export const testFailureAttributes: readonly AttributeRow<OfJob & { readonly failure: TestFailure }>[] = [
  runId,
  taskName,
  { keys: [ATTR_TEST_SUITE_NAME], recurs, type: 'string', when: always, value: ({ failure }) => failure.suite },
  { keys: [ATTR_TEST_CASE_NAME], type: 'string', when: always, note: 'with its class, if it has one', value: ({ failure }) => failure.name },
  { keys: ['platform.test.case.ordinal'], recurs, type: 'int', when: 'above 1', note: 'which test of this name in its suite', value: ({ failure }) => failure.ordinal },
  { keys: [ATTR_TEST_CASE_RESULT_STATUS], recurs, type: 'string', when: always, note: '`fail`', value: ({ failure }) => statusOf(failure.result) },
  { keys: ['platform.test.case.result'], recurs, type: 'string', when: always, note: '`fail` or `error`', value: ({ failure }) => failure.result },
  { keys: [ATTR_CODE_FILE_PATH], type: 'string', when: known, value: ({ failure }) => failure.file },
  { keys: [ATTR_CODE_LINE_NUMBER], type: 'int', when: known, value: ({ failure }) => failure.line },
  { keys: [ATTR_EXCEPTION_TYPE], recurs, type: 'string', when: known, value: ({ failure }) => failure.type },
  { keys: [ATTR_EXCEPTION_MESSAGE], type: 'string', when: known, note: "redacted; otherwise the first line of the stack trace", value: ({ failure }) => failure.message },
  { keys: [ATTR_EXCEPTION_STACKTRACE], type: 'string', when: known, note: 'redacted', value: ({ failure }) => failure.stack },
  { keys: ['platform.test.case.duration'], type: 'double', when: known, note: 's', value: ({ failure }) => failure.seconds },
]

// prettier-ignore
export const flakyTestAttributes: readonly AttributeRow<OfJob & { readonly test: FlakyTest }>[] = [
  runId,
  taskName,
  { keys: [ATTR_TEST_SUITE_NAME], recurs, type: 'string', when: always, value: ({ test }) => test.suite },
  { keys: [ATTR_TEST_CASE_NAME], type: 'string', when: always, value: ({ test }) => test.name },
  { keys: ['platform.test.case.flaky.within'], recurs, type: 'string', when: always,
    note: '`report`: repeated within one report; `revision`: failed and passed in reports of jobs of the same name at the same revision', value: ({ test }) => test.within },
]

// prettier-ignore
export const testSpanAttributes: readonly AttributeRow<OfJob & { readonly span: TestSpan }>[] = [
  runId,
  { keys: [ATTR_TEST_SUITE_NAME], recurs, type: 'string', when: 'suites', value: ({ span }) => (span.suite === undefined ? span.name : undefined) },
  { keys: [ATTR_TEST_SUITE_RUN_STATUS], recurs, type: 'string', when: 'suites', note: '`success` or `failure`', value: ({ span }) => suiteStatusOf(span) },
  { keys: [ATTR_TEST_CASE_NAME], type: 'string', when: 'cases', value: ({ span }) => (span.suite === undefined ? undefined : span.name) },
  { keys: ['platform.test.case.ordinal'], recurs, type: 'int', when: 'above 1', note: 'which test of this name in its suite', value: ({ span }) => span.ofName },
  { keys: [ATTR_TEST_CASE_RESULT_STATUS], recurs, type: 'string', when: 'cases that ran', note: '`pass` or `fail`', value: ({ span }) => span.result && statusOf(span.result) },
  { keys: ['platform.test.case.result'], recurs, type: 'string', when: 'cases', note: '`pass`, `fail`, `error`, `skip`', value: ({ span }) => span.result },
  { keys: ['platform.test.time_estimated'], recurs, type: 'bool', when: 'the report does not say when it ran', note: 'always true', value: ({ span }) => span.estimated || undefined },
]

export function testSpanName({ suite, name }: TestSpan): string {
  return `${suite === undefined ? 'test suite' : 'test'}: ${name}`.toWellFormed()
}

/** The status of a test as an attribute. The semantic conventions only define pass and fail. */
function statusOf(result: TestResult): 'pass' | 'fail' | undefined {
  if (result === 'skip') return undefined
  return result === 'pass' ? 'pass' : 'fail'
}

function suiteStatusOf({ suite, failed }: TestSpan): 'success' | 'failure' | undefined {
  if (suite !== undefined) return undefined
  return failed ? 'failure' : 'success'
}
