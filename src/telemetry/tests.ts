// Turns a job's tests into telemetry: a log record for the report and for each failure and flaky test, and, if configured, a span for each suite and
// case.
import { SeverityNumber, TraceFlags } from '@opentelemetry/api'
import { attributesOf, keyUnder } from './attributes.ts'
import { eventAttributesOf } from './event-name.ts'
import { contextOf, jobSpanId, testSpanId, traceIdOf } from './otlp/ids.ts'
import { flagsOf, spanKinds, statusCodes } from './span-words.ts'
import { isInstant } from './span-time.ts'
import { withCustom } from './custom-attributes.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import {
  flakyTestAttributes,
  testEvents,
  testFailureAttributes,
  testReportAttributes,
  testSpanAttributes,
  testSpanName,
} from './mapping/test.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { Chunk } from '../model/chunk.ts'
import type { InsideJob } from '../model/inside.ts'
import type { JobTests } from '../model/job-tests.ts'
import type { LogRecord, Span } from './otlp/messages.ts'
import type { TestSpan } from '../model/test-layout.ts'

/** The record of the report, if the chunk has it, then those of failures and flaky tests, all linked to the job's span. */
export function testRecords(chunk: Chunk, job: InsideJob, tests: JobTests, settings: TelemetrySettings): LogRecord[] {
  if (!isInstant(job.end)) return []
  const { summary, failures = [], flaky = [] } = tests
  const style = styleOf(chunk, settings)
  const custom = settings.custom?.(chunk).ofJob(job.name)
  const record = (event: keyof typeof testEvents, body: string, attributes: AttributeSet[]): LogRecord => {
    const name = keyUnder(style.namespace, testEvents[event])
    return {
      // The report was complete when the job ended.
      timeUnixNano: job.end,
      observedTimeUnixNano: job.end,
      severityNumber: event === 'failure' ? SeverityNumber.ERROR : SeverityNumber.INFO,
      severityText: '',
      body: body.toWellFormed(),
      attributes: withCustom([...attributes, ...eventAttributesOf(name, style, settings)], custom),
      droppedAttributesCount: 0,
      flags: TraceFlags.SAMPLED,
      traceId: traceIdOf(chunk.trace, chunk.key.instance),
      spanId: jobSpanId(chunk, job),
      eventName: name,
    }
  }
  return [
    ...(summary === undefined
      ? []
      : [record('report', bodyOf(job, summary.totals), attributesOf(testReportAttributes, { job, summary }, style))]),
    ...failures.map(failure =>
      record('failure', `Test failed: ${failure.name}`, attributesOf(testFailureAttributes, { job, failure }, style)),
    ),
    ...flaky.map(test =>
      record('flaky', `Test is flaky: ${test.name}`, attributesOf(flakyTestAttributes, { job, test }, style)),
    ),
  ]
}

/** The spans of suites, below the job's span, and of cases, below their suites'. */
export function testSpansOf(
  chunk: Chunk,
  job: InsideJob,
  { spans = [] }: JobTests,
  settings: TelemetrySettings,
): Span[] {
  const style = styleOf(chunk, settings)
  const custom = settings.custom?.(chunk).ofJob(job.name)
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const spanOf = (span: TestSpan): Span => {
    const parent = contextOf(
      traceId,
      span.suite === undefined ? jobSpanId(chunk, job) : testSpanId(chunk, job, span.suite),
    )
    return {
      traceId,
      spanId: testSpanId(chunk, job, span.ordinal),
      parentSpanId: parent.spanId,
      name: testSpanName(span),
      kind: spanKinds.job,
      startTimeUnixNano: span.start,
      endTimeUnixNano: span.end,
      attributes: withCustom(attributesOf(testSpanAttributes, { job, span }, style), custom),
      droppedAttributesCount: 0,
      events: [],
      droppedEventsCount: 0,
      status: { code: span.failed ? statusCodes.error : statusCodes.unset },
      links: [],
      droppedLinksCount: 0,
      flags: flagsOf(parent),
    }
  }
  return spans.filter(({ start, end }) => isInstant(start) && isInstant(end)).map(spanOf)
}

function bodyOf(
  { name, id }: InsideJob,
  { total, failed, errored, skipped }: NonNullable<JobTests['summary']>['totals'],
): string {
  return `Tests of ${name ?? id}: ${total} in all, ${failed} failed, ${errored} in error, ${skipped} skipped`
}
