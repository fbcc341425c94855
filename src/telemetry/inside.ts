// Turns a job's log and reports into telemetry: a span for each section of the log, and a log record for each line.
import { SeverityNumber, TraceFlags } from '@opentelemetry/api'
import { attributesOf } from './attributes.ts'
import { contextOf, jobSpanId, sectionSpanId, traceIdOf } from './otlp/ids.ts'
import { isInstant } from './span-time.ts'
import { logLineAttributes } from './mapping/log.ts'
import { sectionAttributes, sectionSpanName } from './mapping/section.ts'
import { withCustom } from './custom-attributes.ts'
import { flagsOf, spanKinds, statusCodes } from './span-words.ts'
import { ownSpansOf } from './own-spans.ts'
import { reportRecords } from './reports.ts'
import { testRecords, testSpansOf } from './tests.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { Chunk } from '../model/chunk.ts'
import type { JobInside, LogLine, Section } from '../model/inside.ts'
import type { LogRecord, Span } from './otlp/messages.ts'

/** The spans of a job's sections in order, or of its tests, or those that it made itself. */
export function insideSpans(chunk: Chunk, inside: JobInside, settings: TelemetrySettings): Span[] {
  const { job, ranOn, sections = [], tests, ownSpans } = inside
  if (tests !== undefined) return testSpansOf(chunk, job, tests, settings)
  if (ownSpans !== undefined) return ownSpansOf(chunk, job, ownSpans, settings)
  const style = styleOf(chunk, settings)
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const custom = settings.custom?.(chunk).ofJob(job.name)
  const spanOf = (section: Section): Span => {
    const parent = contextOf(traceId, spanIdWithin(chunk, job, section.parent))
    return {
      traceId,
      spanId: sectionSpanId(chunk, job, section.ordinal),
      parentSpanId: parent.spanId,
      name: sectionSpanName(section),
      kind: spanKinds.job,
      startTimeUnixNano: section.start,
      endTimeUnixNano: Math.max(section.start, section.end),
      attributes: withCustom(attributesOf(sectionAttributes, { job, ranOn, section }, style), custom),
      droppedAttributesCount: 0,
      events: [],
      droppedEventsCount: 0,
      status: { code: section.failed === true ? statusCodes.error : statusCodes.unset },
      links: [],
      droppedLinksCount: 0,
      flags: flagsOf(parent),
    }
  }
  return sections.filter(({ start, end }) => isInstant(start) && isInstant(end)).map(spanOf)
}

/** The records of a job's log lines in order, or of its tests, or of a report. */
export function insideRecords(chunk: Chunk, inside: JobInside, settings: TelemetrySettings): LogRecord[] {
  const { job, ranOn, lines = [], tests, report } = inside
  if (tests !== undefined) return testRecords(chunk, job, tests, settings)
  if (report !== undefined) return reportRecords(chunk, job, report, settings)
  const style = styleOf(chunk, settings)
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const custom = settings.custom?.(chunk).ofJob(job.name)
  const recordOf = (line: LogLine): LogRecord => ({
    timeUnixNano: line.at,
    // Not the time of sending: repeated exports must be identical.
    observedTimeUnixNano: line.at,
    severityNumber: line.isError === true ? SeverityNumber.ERROR : SeverityNumber.UNSPECIFIED,
    severityText: line.isError === true ? 'ERROR' : '',
    body: line.text.toWellFormed(),
    attributes: withCustom(attributesOf(logLineAttributes, { job, ranOn, line }, style), custom),
    droppedAttributesCount: 0,
    flags: TraceFlags.SAMPLED,
    traceId,
    spanId: spanIdWithin(chunk, job, line.section),
  })
  return lines.filter(({ at }) => isInstant(at)).map(recordOf)
}

/** The span id of a section, by its ordinal, or of the job itself. */
function spanIdWithin(chunk: Chunk, job: JobInside['job'], ordinal: number | undefined): string {
  return ordinal === undefined ? jobSpanId(chunk, job) : sectionSpanId(chunk, job, ordinal)
}
