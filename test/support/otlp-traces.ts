// Decodes a trace export request into plain spans, each with its resource and scope.
import { traceRequest } from '../../src/demo/otlp-messages.ts'
import {
  millisOf,
  plainAttributes,
  plainId,
  plainResource,
  plainScope,
  type Attributes,
  type Int64,
  type ReceivedResource,
  type ReceivedScope,
  type WireKeyValue,
  type WireResource,
  type WireScope,
} from './otlp-values.ts'

export interface ReceivedSpan {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly traceState: string
  readonly flags: number
  readonly name: string
  readonly kind: 'unspecified' | 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  /** Unix nanoseconds, exact. */
  readonly startNanos: bigint
  readonly endNanos: bigint
  /** Unix milliseconds. */
  readonly start: number
  readonly end: number
  readonly status: 'unset' | 'ok' | 'error'
  readonly statusMessage: string
  readonly attributes: Attributes
  readonly events: readonly { readonly name: string; readonly nanos: bigint; readonly attributes: Attributes }[]
  readonly links: readonly ReceivedLink[]
  readonly resource: ReceivedResource
  readonly scope: ReceivedScope
}

export interface ReceivedLink {
  readonly traceId: string
  readonly spanId: string
  readonly traceState: string
  readonly flags: number
  readonly attributes: Attributes
}

interface WireSpan {
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly parentSpanId: Uint8Array
  readonly traceState: string
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: Int64
  readonly endTimeUnixNano: Int64
  readonly attributes: readonly WireKeyValue[]
  readonly events: readonly {
    readonly timeUnixNano: Int64
    readonly name: string
    readonly attributes: readonly WireKeyValue[]
  }[]
  readonly links: readonly {
    readonly traceId: Uint8Array
    readonly spanId: Uint8Array
    readonly traceState: string
    readonly flags: number
    readonly attributes: readonly WireKeyValue[]
  }[]
  readonly status?: { readonly code: number; readonly message: string } | null
}

interface WireTraceRequest {
  readonly resourceSpans: readonly {
    readonly resource?: WireResource | null
    readonly schemaUrl: string
    readonly scopeSpans: readonly {
      readonly scope?: WireScope | null
      readonly schemaUrl: string
      readonly spans: readonly WireSpan[]
    }[]
  }[]
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const
const statuses = ['unset', 'ok', 'error'] as const

/** Throws on bytes that are no ExportTraceServiceRequest. */
export function decodeTraces(body: Uint8Array): ReceivedSpan[] {
  const request = traceRequest.decode(body) as unknown as WireTraceRequest
  return request.resourceSpans.flatMap(({ resource, schemaUrl, scopeSpans }) => {
    const from = plainResource(resource, schemaUrl)
    return scopeSpans.flatMap(group => {
      const scope = plainScope(group.scope, group.schemaUrl)
      return group.spans.map(span => plainSpan(span, from, scope))
    })
  })
}

function plainSpan(span: WireSpan, resource: ReceivedResource, scope: ReceivedScope): ReceivedSpan {
  const startNanos = span.startTimeUnixNano.toBigInt()
  const endNanos = span.endTimeUnixNano.toBigInt()
  return {
    traceId: plainId(span.traceId) ?? '',
    spanId: plainId(span.spanId) ?? '',
    parentSpanId: plainId(span.parentSpanId),
    traceState: span.traceState,
    flags: span.flags,
    name: span.name,
    kind: kinds[span.kind] ?? 'unspecified',
    startNanos,
    endNanos,
    start: millisOf(startNanos),
    end: millisOf(endNanos),
    status: statuses[span.status?.code ?? 0] ?? 'unset',
    statusMessage: span.status?.message ?? '',
    attributes: plainAttributes(span.attributes),
    events: span.events.map(({ name, timeUnixNano, attributes }) => ({
      name,
      nanos: timeUnixNano.toBigInt(),
      attributes: plainAttributes(attributes),
    })),
    links: span.links.map(link => ({
      traceId: plainId(link.traceId) ?? '',
      spanId: plainId(link.spanId) ?? '',
      traceState: link.traceState,
      flags: link.flags,
      attributes: plainAttributes(link.attributes),
    })),
    resource,
    scope,
  }
}
