// What all spans and log records of the inside of one job have in common.
import { SeverityNumber, TraceFlags } from '@opentelemetry/api'
import { attributesOf, keyUnder, type AttributeStyle } from './attributes.ts'
import { eventAttributes } from './mapping/log.ts'
import { flagsOf, spanKinds, statusCodes, type LogRecord, type Span } from './otlp/messages.ts'
import { jobSpanId, traceIdOf } from './otlp/ids.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import { withCustom } from './custom-attributes.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { Chunk } from '../../model/chunk.ts'
import type { InsideJob } from '../../model/inside.ts'
import type { Millis } from '../../model/instant.ts'
import type { SpanTimes } from './span-time.ts'

export interface InsideContext {
  readonly chunk: Chunk
  readonly job: InsideJob
  readonly settings: TelemetrySettings
  readonly style: AttributeStyle
  readonly traceId: string
  readonly custom: readonly AttributeSet[] | undefined
}

export function insideContext(chunk: Chunk, job: InsideJob, settings: TelemetrySettings): InsideContext {
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const custom = settings.custom?.(chunk).ofJob(job.name)
  return { chunk, job, settings, style: styleOf(chunk, settings), traceId, custom }
}

interface SpanParts extends Pick<Span, 'spanId' | 'parentSpanId' | 'name' | 'attributes'>, SpanTimes {
  readonly failed: boolean
}

/** The span of a section or a test, below the job's span or another one of the same inside. */
export function insideSpan({ traceId, custom }: InsideContext, parts: SpanParts): Span {
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

export function insideRecord({ traceId, custom }: InsideContext, parts: RecordParts): LogRecord {
  const { at, severityNumber, severityText = '', body, attributes, spanId, eventName } = parts
  return {
    timeUnixNano: at,
    // Not the time of sending: repeated exports must be identical.
    observedTimeUnixNano: at,
    ...{ severityNumber, severityText },
    body: body.toWellFormed(),
    attributes: withCustom(attributes, custom),
    droppedAttributesCount: 0,
    flags: TraceFlags.SAMPLED,
    ...{ traceId, spanId, eventName },
  }
}

/** An event about a report of the job, which was complete when the job ended. `event`: its name, in the table. */
export function reportEvent(
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
