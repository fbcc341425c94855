// Turns a job's log and reports into telemetry: a span for each section of the log, a log record for each line, and one for a dotenv report.
import { SeverityNumber } from '@opentelemetry/api'
import { attributesOf, keyUnder, namedAttributes } from './attributes.ts'
import { dotenvAttributes, dotenvEvent } from './mapping/inside-job.ts'
import { insideContext, insideRecord, insideSpan, reportEvent, type InsideContext } from './inside-context.ts'
import { isInstant, isTimed } from './span-time.ts'
import { jobSpanId, sectionSpanId } from './otlp/ids.ts'
import { logLineAttributes } from './mapping/log.ts'
import { ownSpansOf } from './own-spans.ts'
import { sectionAttributes, sectionSpanName } from './mapping/section.ts'
import { testRecords, testSpansOf } from './tests.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { JobInside } from '../../model/inside.ts'
import type { JobReport } from '../../model/job-reports.ts'
import type { LogRecord, Span } from './otlp/messages.ts'
import type { TelemetrySettings } from './settings.ts'

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
