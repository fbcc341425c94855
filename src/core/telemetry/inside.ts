// Turns a job's log and reports into telemetry: a span for each section of the log, a log record for each line, and one for a dotenv report.
import { SeverityNumber } from '@opentelemetry/api'
import {
  attributesOf,
  keyUnder,
  namedAttributes,
  cut,
  defaultValueLengthLimit,
  type AttributeStyle,
} from './attributes.ts'
import { dotenvAttributes, dotenvEvent, ownSpanAttributes } from './mapping/inside-job.ts'
import { insideContext, insideRecord, insideSpan, reportEvent, type InsideContext } from './inside-context.ts'
import { isInstant, isTimed } from './span-time.ts'
import { jobSpanId, sectionSpanId, testSpanId } from './otlp/ids.ts'
import { logLineAttributes } from './mapping/log.ts'
import { sectionAttributes, sectionSpanName } from './mapping/section.ts'
import { Double, type AttributeValue } from './otlp/attribute-value.ts'
import {
  flakyTestAttributes,
  testEvents,
  testFailureAttributes,
  testReportAttributes,
  testSpanAttributes,
  testSpanName,
} from './mapping/test.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JobInside, InsideJob } from '../../model/inside.ts'
import type { JobReport } from '../../model/job-reports.ts'
import { flagsOf, type LogRecord, type Span } from './otlp/messages.ts'
import type { TelemetrySettings } from './settings.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { OwnAttributes, OwnSpan, OwnValue } from '../../model/own-span.ts'
import type { JobTests } from '../../model/job-tests.ts'

// Turns spans that a job made itself into spans of the pipeline's trace, below the job's span.

/** Attributes that Pipespan itself sets: a span with one of these could pass for a span of another pipeline. */
const reservedPrefixes = ['cicd.', 'vcs.', 'platform.', 'pipeline.', 'job.']

function ownSpansOf({ chunk, job, style, traceId }: InsideContext, spans: readonly OwnSpan[]): Span[] {
  const jobSpan = jobSpanId(chunk, job)
  const reserved = [...reservedPrefixes, style.namespace]
  const spanOf = (span: OwnSpan): Span => {
    const { events = [], links = [], dropped, message } = span
    const own = span.attributes.filter(([key]) => !reserved.some(prefix => key.startsWith(prefix)))
    return {
      ...{ traceId, spanId: span.id, parentSpanId: span.parent ?? jobSpan, kind: span.kind },
      ...{ name: textOf(span.name), startTimeUnixNano: span.start, endTimeUnixNano: span.end },
      attributes: [...attributesOf(ownSpanAttributes, { job }, style), ...attributesFor(own, style)],
      droppedAttributesCount: dropped.attributes + span.attributes.length - own.length,
      events: events
        .filter(({ at }) => isInstant(at))
        .map(({ at, name, attributes }) => ({
          ...{ timeUnixNano: at, name: textOf(name), attributes: attributesFor(attributes, style) },
          droppedAttributesCount: 0,
        })),
      droppedEventsCount: dropped.events,
      links: links.map(link => ({
        ...{ traceId: link.traceId ?? traceId, spanId: link.spanId },
        ...{ attributes: attributesFor(link.attributes, style), droppedAttributesCount: 0, flags: flagsOf(undefined) },
      })),
      droppedLinksCount: dropped.links,
      status: { code: span.status, ...(message !== undefined && { message: textOf(message) }) },
      flags: flagsOf(undefined),
    }
  }
  return spans.filter(isTimed).map(spanOf)
}

function textOf(text: string): string {
  return cut(text, defaultValueLengthLimit)
}

function attributesFor(attributes: OwnAttributes, style: AttributeStyle): AttributeSet[] {
  return namedAttributes(Object.fromEntries(attributes.map(([key, value]) => [key, valueOf(value)])), style)
}

function valueOf(value: OwnValue): AttributeValue {
  if (typeof value !== 'object') return value
  if ('int' in value) return BigInt.asIntN(64, BigInt(value.int))
  return 'double' in value ? new Double(value.double) : value
}

/** The spans of a job's sections in order, or of its tests, or those that it made itself. */
export function insideSpans(chunk: Chunk, inside: JobInside, settings: TelemetrySettings): Span[] {
  const { job, ranOn, sections = [], tests, ownSpans } = inside
  const context = insideContext(chunk, job, settings)
  if (tests !== undefined) return testSpansOf(context, tests)
  if (ownSpans !== undefined) return ownSpansOf(context, ownSpans)
  return sections.filter(isTimed).map(section =>
    insideSpan(context, {
      spanId: sectionSpanId(chunk, job, section.ordinal),
      parentSpanId: spanIdWithin(chunk, job, section.parent),
      name: sectionSpanName(section),
      ...{ start: section.start, end: Math.max(section.start, section.end), failed: section.failed === true },
      attributes: attributesOf(sectionAttributes, { job, ranOn, section }, context.style),
    }),
  )
}

/** The records of a job's log lines in order, or of its tests, or of a report. */
export function insideRecords(chunk: Chunk, inside: JobInside, settings: TelemetrySettings): LogRecord[] {
  const { job, ranOn, lines = [], tests, report } = inside
  const context = insideContext(chunk, job, settings)
  if (tests !== undefined) return testRecords(context, tests)
  if (report !== undefined) return reportRecords(context, report)
  return lines
    .filter(({ at }) => isInstant(at))
    .map(line =>
      insideRecord(context, {
        at: line.at,
        severityNumber: line.isError === true ? SeverityNumber.ERROR : SeverityNumber.UNSPECIFIED,
        severityText: line.isError === true ? 'ERROR' : undefined,
        body: line.text,
        attributes: attributesOf(logLineAttributes, { job, ranOn, line }, context.style),
        spanId: spanIdWithin(chunk, job, line.section),
      }),
    )
}

/** One record for a dotenv report. Other reports, except for tests, only have metrics. */
function reportRecords(context: InsideContext, { dotenv }: JobReport): LogRecord[] {
  const { job, style } = context
  if (dotenv === undefined || !isInstant(job.end)) return []
  const prefix = keyUnder(style.namespace, dotenvEvent)
  const keys = Object.entries(dotenv)
  const body = `${job.name ?? job.id} reports ${keys.length} ${keys.length === 1 ? 'value' : 'values'}`
  const attributes = [
    ...attributesOf(dotenvAttributes, { job }, style),
    ...namedAttributes(Object.fromEntries(keys.map(([key, value]) => [`${prefix}.${key}`, value])), style),
  ]
  return [reportEvent(context, dotenvEvent, body, attributes)]
}

/** The span id of a section, by its ordinal, or of the job itself. */
function spanIdWithin(chunk: Chunk, job: JobInside['job'], ordinal: number | undefined): string {
  return ordinal === undefined ? jobSpanId(chunk, job) : sectionSpanId(chunk, job, ordinal)
}

// Turns a job's tests into telemetry: a log record for the report and for each failure and flaky test, and, if configured, a span for each suite and
// case.

/** The record of the report, if the chunk has it, then those of failures and flaky tests, all linked to the job's span. */
function testRecords(context: InsideContext, { summary, failures = [], flaky = [] }: JobTests): LogRecord[] {
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
function testSpansOf(context: InsideContext, { spans = [] }: JobTests): Span[] {
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
