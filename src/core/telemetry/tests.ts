// Turns a job's tests into telemetry: a log record for the report and for each failure and flaky test, and, if configured, a span for each suite and
// case.
import { SeverityNumber } from '@opentelemetry/api'
import { attributesOf } from './attributes.ts'
import { insideSpan, reportEvent, type InsideContext } from './inside-context.ts'
import { isInstant, isTimed } from './span-time.ts'
import { jobSpanId, testSpanId } from './otlp/ids.ts'
import {
  flakyTestAttributes,
  testEvents,
  testFailureAttributes,
  testReportAttributes,
  testSpanAttributes,
  testSpanName,
} from './mapping/test.ts'
import type { InsideJob } from '../../model/inside.ts'
import type { JobTests } from '../../model/job-tests.ts'
import type { LogRecord, Span } from './otlp/messages.ts'

/** The record of the report, if the chunk has it, then those of failures and flaky tests, all linked to the job's span. */
export function testRecords(context: InsideContext, { summary, failures = [], flaky = [] }: JobTests): LogRecord[] {
  const { job, style } = context
  if (!isInstant(job.end)) return []
  const reports = summary === undefined ? [] : [summary]
  return [
    ...reports.map(one => {
      const attributes = attributesOf(testReportAttributes, { job, summary: one }, style)
      return reportEvent(context, testEvents.report, bodyOf(job, one.totals), attributes)
    }),
    ...failures.map(failure => {
      const attributes = attributesOf(testFailureAttributes, { job, failure }, style)
      return reportEvent(context, testEvents.failure, `Test failed: ${failure.name}`, attributes, SeverityNumber.ERROR)
    }),
    ...flaky.map(test => {
      const attributes = attributesOf(flakyTestAttributes, { job, test }, style)
      return reportEvent(context, testEvents.flaky, `Test is flaky: ${test.name}`, attributes)
    }),
  ]
}

/** The spans of suites, below the job's span, and of cases, below their suites'. */
export function testSpansOf(context: InsideContext, { spans = [] }: JobTests): Span[] {
  const { chunk, job, style } = context
  return spans.filter(isTimed).map(span =>
    insideSpan(context, {
      spanId: testSpanId(chunk, job, span.ordinal),
      parentSpanId: span.suite === undefined ? jobSpanId(chunk, job) : testSpanId(chunk, job, span.suite),
      name: testSpanName(span),
      ...{ start: span.start, end: span.end, failed: span.failed },
      attributes: attributesOf(testSpanAttributes, { job, span }, style),
    }),
  )
}

function bodyOf(
  { name, id }: InsideJob,
  { total, failed, errored, skipped }: NonNullable<JobTests['summary']>['totals'],
): string {
  return `Tests of ${name ?? id}: ${total} in all, ${failed} failed, ${errored} in error, ${skipped} skipped`
}
