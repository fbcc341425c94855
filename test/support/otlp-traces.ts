// Decodes a trace export request into plain spans, each with its resource and scope.
import { traceRequest } from '../../src/simulator/otlp-messages.ts'
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
  readonly attributes: Attributes
  readonly resource: ReceivedResource
  readonly scope: ReceivedScope
}

interface WireSpan {
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly parentSpanId: Uint8Array
  readonly flags: number
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: Int64
  readonly endTimeUnixNano: Int64
  readonly attributes: readonly WireKeyValue[]
  readonly status?: { readonly code: number } | null
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
    flags: span.flags,
    name: span.name,
    kind: kinds[span.kind] ?? 'unspecified',
    startNanos,
    endNanos,
    start: millisOf(startNanos),
    end: millisOf(endNanos),
    status: statuses[span.status?.code ?? 0] ?? 'unset',
    attributes: plainAttributes(span.attributes),
    resource,
    scope,
  }
}
