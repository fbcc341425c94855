// A span as it will be, its attributes not made yet: from here it becomes bytes, or an object for those who show it.
import type { Link, SpanContext, SpanKind, SpanStatus } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { Resource } from '@opentelemetry/resources'
import { scope } from './otlp/scope.ts'
import { hrTimeOf, type SpanTimes } from './span-time.ts'
import type { AttributeSource } from './attributes/told.ts'

export interface SpanSketch {
  readonly name: string
  readonly kind: SpanKind
  readonly context: SpanContext
  readonly parent: SpanContext | undefined
  readonly times: SpanTimes
  readonly status: SpanStatus
  readonly attributes: AttributeSource
  readonly links: readonly Link[]
}

/** The spans of one part, all of one resource. */
export interface TraceSketch {
  readonly resource: AttributeSource
  readonly spans: readonly SpanSketch[]
}

/** The span as the SDK's own would be. */
export function finished(sketch: SpanSketch, resource: Resource): ReadableSpan {
  const { name, kind, context, parent, times, status, attributes, links } = sketch
  return {
    name,
    kind,
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    startTime: hrTimeOf(times.start),
    endTime: hrTimeOf(times.end),
    duration: hrTimeOf(times.end - times.start),
    status,
    attributes: attributes.asObject(),
    links: [...links],
    resource,
    instrumentationScope: scope,
    ended: true,
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}
