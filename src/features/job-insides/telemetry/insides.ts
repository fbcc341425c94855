// Turns the data that was read from a job's log, reports and artifacts into telemetry. Each section of its log, each suite and test, and each span
// that the job created itself becomes a span. Each line of its log, its test report, each failure and flaky test, and its dotenv report become log
// records. This file also produces metrics.
import { SeverityNumber, TraceFlags } from '@opentelemetry/api'
import {
  attributesOf,
  cut,
  defaultValueLengthLimit,
  keyUnder,
  namedAttributes,
  type AttributeStyle,
} from '../../../core/telemetry/attributes.ts'
import { dotenvAttributes, dotenvEvent, ownSpanAttributes } from './job-attributes.ts'
import { Double, type AttributeValue } from '../../../core/telemetry/otlp/attribute-value.ts'
import { eventAttributes } from '../../../core/telemetry/mapping/log.ts'
import { flagsOf, spanKinds, statusCodes, type LogRecord, type Span } from '../../../core/telemetry/otlp/messages.ts'
import { insideMetrics } from './metrics.ts'
import { isInstant, isTimed, type SpanTimes } from '../../../core/telemetry/span-time.ts'
import { jobSpanId, sectionSpanId, testSpanId, traceIdOf } from '../../../core/telemetry/otlp/ids.ts'
import { logLineAttributes, sectionAttributes, sectionSpanName } from './log-attributes.ts'
import { styleOf, type InsideTelemetry, type TelemetrySettings } from '../../../core/telemetry/settings.ts'
import {
  flakyTestAttributes,
  testEvents,
  testFailureAttributes,
  testReportAttributes,
  testSpanAttributes,
  testSpanName,
} from './test-attributes.ts'
import { withCustom } from '../../../core/telemetry/custom-attributes.ts'
import type { AttributeSet } from '../../../core/telemetry/otlp/attribute.ts'
import type { Chunk } from '../../../model/chunk.ts'
import type { InsideJob, JobInside } from '../../../model/inside.ts'
import type { JobReport } from '../../../model/job-reports.ts'
import type { JobTests } from '../../../model/job-tests.ts'
import type { Millis } from '../../../model/instant.ts'
import type { OwnAttributes, OwnSpan, OwnValue } from '../../../model/own-span.ts'

export const insideTelemetry: InsideTelemetry = { spans: insideSpans, records: insideRecords, metrics: insideMetrics }

/** Returns the spans of a chunk, all of one kind: the sections of the job's log in order, its tests, or the spans that the job created itself. */
function insideSpans(chunk: Chunk, inside: JobInside, settings: TelemetrySettings): Span[] {
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

/** Returns the log records of a chunk, all of one kind: the lines of the job's log in order, its tests, or another report. */
function insideRecords(chunk: Chunk, inside: JobInside, settings: TelemetrySettings): LogRecord[] {
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

/** Returns one log record for a dotenv report. Other reports, except test reports, only become metrics. */
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

/** Returns the span id of the section with this ordinal, or of the job itself if there is no ordinal. */
function spanIdWithin(chunk: Chunk, job: JobInside['job'], ordinal: number | undefined): string {
  return ordinal === undefined ? jobSpanId(chunk, job) : sectionSpanId(chunk, job, ordinal)
}

/** Returns the log record of the test report, if the chunk has it, then the records of failures and flaky tests. All are linked to the job's span. */
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

/** Returns the spans of test suites, whose parent is the job's span, and of test cases, whose parents are their suites. */
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

/**
 * Attribute prefixes that are reserved for Pipespan. Such attributes are removed from a job's own spans, which could otherwise look like spans of
 * another pipeline.
 */
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

interface InsideContext {
  readonly chunk: Chunk
  readonly job: InsideJob
  readonly settings: TelemetrySettings
  readonly style: AttributeStyle
  readonly traceId: string
  readonly custom: readonly AttributeSet[] | undefined
}

function insideContext(chunk: Chunk, job: InsideJob, settings: TelemetrySettings): InsideContext {
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const custom = settings.custom?.(chunk).ofJob(job.name)
  return { chunk, job, settings, style: styleOf(chunk, settings), traceId, custom }
}

interface SpanParts extends Pick<Span, 'spanId' | 'parentSpanId' | 'name' | 'attributes'>, SpanTimes {
  readonly failed: boolean
}

/** Builds the span of a section or a test. Its parent is the job's span, or another span that was read from the same log or report. */
function insideSpan({ traceId, custom }: InsideContext, parts: SpanParts): Span {
  const { spanId, parentSpanId, name, start, end, attributes, failed } = parts
  return {
    ...{ traceId, spanId, parentSpanId, name, kind: spanKinds.job },
    startTimeUnixNano: start,
    endTimeUnixNano: end,
    attributes: withCustom(attributes, custom),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    status: { code: failed ? statusCodes.error : statusCodes.unset },
    links: [],
    droppedLinksCount: 0,
    flags: flagsOf(undefined),
  }
}

interface RecordParts extends Pick<LogRecord, 'spanId' | 'severityNumber' | 'eventName' | 'attributes'> {
  readonly at: Millis
  readonly severityText?: 'ERROR' | undefined
  readonly body: string
}

function insideRecord({ traceId, custom }: InsideContext, parts: RecordParts): LogRecord {
  const { at, severityNumber, severityText = '', body, attributes, spanId, eventName } = parts
  return {
    timeUnixNano: at,
    // The observed timestamp is not the time of sending, because a repeated export must be identical to the first one.
    observedTimeUnixNano: at,
    ...{ severityNumber, severityText },
    body: body.toWellFormed(),
    attributes: withCustom(attributes, custom),
    droppedAttributesCount: 0,
    flags: TraceFlags.SAMPLED,
    ...{ traceId, spanId, eventName },
  }
}

/**
 * Returns an event about a report of the job. Its time is the end of the job, when the report was complete. `event` is the event's name with the
 * prefix `platform.`, which is replaced by the profile's namespace.
 */
function reportEvent(
  context: InsideContext,
  event: string,
  body: string,
  attributes: readonly AttributeSet[],
  severityNumber = SeverityNumber.INFO,
): LogRecord {
  const { chunk, job, settings, style } = context
  const eventName = keyUnder(style.namespace, event)
  return insideRecord(context, {
    ...{ at: job.end, severityNumber, body, eventName },
    attributes: [...attributes, ...attributesOf(eventAttributes, { name: eventName, settings }, style)],
    spanId: jobSpanId(chunk, job),
  })
}
