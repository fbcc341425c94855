// Turns spans that a job made itself into spans of the pipeline's trace, below the job's span.
import { attributesOf, namedAttributes, type AttributeStyle } from './attributes.ts'
import { contextOf, jobSpanId, traceIdOf } from './otlp/ids.ts'
import { cut, defaultValueLengthLimit } from './attribute-policy.ts'
import { Double, type AttributeValue } from './otlp/attribute-value.ts'
import { flagsOf } from './span-words.ts'
import { isInstant } from './span-time.ts'
import { ownSpanAttributes } from './mapping/own-span.ts'
import { styleOf, type TelemetrySettings } from './settings.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { Chunk } from '../model/chunk.ts'
import type { InsideJob } from '../model/inside.ts'
import type { OwnAttributes, OwnSpan, OwnValue } from '../model/own-span.ts'
import type { Span } from './otlp/messages.ts'

/** Attributes that Pipespan itself sets: a span with one of these could pass for a span of another pipeline. */
const reservedPrefixes = ['cicd.', 'vcs.', 'platform.', 'pipeline.', 'job.']

export function ownSpansOf(
  chunk: Chunk,
  job: InsideJob,
  spans: readonly OwnSpan[],
  settings: TelemetrySettings,
): Span[] {
  const style = styleOf(chunk, settings)
  const traceId = traceIdOf(chunk.trace, chunk.key.instance)
  const jobSpan = jobSpanId(chunk, job)
  const reserved = [...reservedPrefixes, style.namespace]
  const spanOf = (span: OwnSpan): Span => {
    const { events = [], links = [], dropped, message } = span
    const parent = contextOf(traceId, span.parent ?? jobSpan)
    const own = span.attributes.filter(([key]) => !reserved.some(prefix => key.startsWith(prefix)))
    return {
      ...{ traceId, spanId: span.id, parentSpanId: parent.spanId, name: textOf(span.name), kind: span.kind },
      ...{ startTimeUnixNano: span.start, endTimeUnixNano: span.end },
      attributes: [...attributesOf(ownSpanAttributes, job, style), ...attributesFor(own, style)],
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
      flags: flagsOf(parent),
    }
  }
  return spans.filter(({ start, end }) => isInstant(start) && isInstant(end)).map(spanOf)
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
