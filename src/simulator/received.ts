// Decodes the parts of an OTLP request that the demo displays: spans, and the log records of events.
import type { Type } from 'protobufjs'
import { logsRequest, traceRequest } from './otlp-messages.ts'
import type { WaterfallSpan } from './waterfall-span.ts'

export interface ReceivedSpan extends WaterfallSpan {
  /** The name of the span's instrumentation scope. */
  readonly scope: string
}

export interface ReceivedEvent {
  readonly name: string
  readonly body: string
  /** The Unix time of the event in ms. */
  readonly at: number
  /** The name of the project that the event belongs to. */
  readonly project: string | undefined
}

/** An OTLP AnyValue, which has exactly one of these fields. */
interface WireValue {
  readonly stringValue?: string
  readonly boolValue?: boolean
  readonly intValue?: number
  readonly doubleValue?: number
  readonly arrayValue?: { readonly values: readonly WireValue[] }
}

type WireAttributes = readonly { readonly key: string; readonly value?: WireValue }[]

interface WireTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly scope?: { readonly name: string }
      readonly spans: readonly {
        /** The trace id in base64, like all ids in this file. */
        readonly traceId: string
        readonly spanId: string
        readonly parentSpanId?: string
        readonly name: string
        readonly kind: number
        readonly startTimeUnixNano: number
        readonly endTimeUnixNano: number
        readonly attributes: WireAttributes
        readonly status?: { readonly code?: number }
      }[]
    }[]
  }[]
}

interface WireLogs {
  readonly resourceLogs: readonly {
    readonly resource?: { readonly attributes: WireAttributes }
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly timeUnixNano: number
        readonly eventName?: string
        readonly body?: WireValue
      }[]
    }[]
  }[]
}

const serverKind = 2
const statuses = ['unset', 'ok', 'error'] as const

/** Decodes the spans of a trace request. Throws if the bytes are not an ExportTraceServiceRequest. */
export function spansIn(body: Uint8Array): ReceivedSpan[] {
  const groups = (read(traceRequest, body) as WireTraces).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
  return groups.flatMap(({ scope, spans }) =>
    spans.map(({ name, kind, attributes, status, parentSpanId, ...span }) => ({
      ...{ name, scope: scope?.name ?? '', traceId: hexOf(span.traceId), spanId: hexOf(span.spanId) },
      parentSpanId: parentSpanId && hexOf(parentSpanId),
      kind: kind === serverKind ? 'pipeline' : 'job',
      start: millisOf(span.startTimeUnixNano),
      end: millisOf(span.endTimeUnixNano),
      status: statuses[status?.code ?? 0] ?? 'unset',
      attributes: attributesOf(attributes),
    })),
  )
}

/** Decodes the events of a log request. Throws if the bytes are not an ExportLogsServiceRequest. */
export function eventsIn(body: Uint8Array): ReceivedEvent[] {
  return (read(logsRequest, body) as WireLogs).resourceLogs.flatMap(({ resource, scopeLogs }) => {
    const project = attributesOf(resource?.attributes ?? [])['service.name']
    return scopeLogs
      .flatMap(({ logRecords }) => logRecords)
      .flatMap(({ eventName: name = '', body, timeUnixNano }) => {
        if (name === '' || body?.stringValue === undefined) return []
        const at = millisOf(timeUnixNano)
        return [{ name, body: body.stringValue, at, project: typeof project === 'string' ? project : undefined }]
      })
  })
}

/** Decodes a protobuf message. Bytes become base64. */
function read(message: Type, body: Uint8Array): unknown {
  return message.toObject(message.decode(body), { longs: Number, bytes: String, arrays: true })
}

function hexOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex')
}

function millisOf(nanos: number): number {
  return Math.floor(nanos / 1e6)
}

function attributesOf(list: WireAttributes): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, plain(value)]))
}

function plain(value: WireValue | undefined): unknown {
  return value?.arrayValue === undefined ? Object.values(value ?? {})[0] : value.arrayValue.values.map(plain)
}
