// Turns spans that a job made itself into spans of the pipeline's trace, below the job's span.
import { attributesOf, namedAttributes, cut, defaultValueLengthLimit, type AttributeStyle } from './attributes.ts'
import { jobSpanId } from './otlp/ids.ts'
import { Double, type AttributeValue } from './otlp/attribute-value.ts'
import { flagsOf, type Span } from './otlp/messages.ts'
import { isInstant, isTimed } from './span-time.ts'
import { ownSpanAttributes } from './mapping/inside-job.ts'
import type { AttributeSet } from './otlp/attribute.ts'
import type { InsideContext } from './inside-context.ts'
import type { OwnAttributes, OwnSpan, OwnValue } from '../../model/own-span.ts'

/** Attributes that Pipespan itself sets: a span with one of these could pass for a span of another pipeline. */
const reservedPrefixes = ['cicd.', 'vcs.', 'platform.', 'pipeline.', 'job.']

export function ownSpansOf({ chunk, job, style, traceId }: InsideContext, spans: readonly OwnSpan[]): Span[] {
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
