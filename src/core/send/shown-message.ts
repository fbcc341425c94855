// Decodes a stored message into a form that people can read.
import { requestAsJson } from '../telemetry/encode.ts'
import { requestOf } from './messages.ts'
import { logsRequest, metricsRequest, traceRequest } from '../telemetry/otlp/messages.ts'
import { plainAttributes, type AttributeSet } from '../telemetry/otlp/attribute.ts'
import type { Signal } from '../store/ports/outbox.ts'

/** Returns the request in a stored message as JSON; undefined if the message is damaged. */
export function messageAsJson(signal: Signal, body: Uint8Array): string | undefined {
  return unlessDamaged(() => {
    const request = requestOf(body)
    return signal === 'notifications' ? JSON.stringify(parsed(request), null, 2) : requestAsJson(signal, request)
  })
}

/** Returns the names and attributes of a message's spans, log records or metrics; undefined if the message is damaged. */
export function contentsOf(signal: Signal, body: Uint8Array): ShownContent[] | undefined {
  return unlessDamaged(() => {
    const request = requestOf(body)
    return signal === 'notifications'
      ? [{ name: 'Message', attributes: parsed(request) }]
      : shownRequest(signal, request)
  })
}

function parsed(request: Uint8Array): Record<string, unknown> {
  return JSON.parse(Buffer.from(request).toString()) as Record<string, unknown>
}

function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

// The name and the attributes of one span, log record or metric in a request, prepared for display.
interface ShownContent {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Returns the spans, log records or metrics of a protobuf request. Throws DataError if the request is damaged. */
function shownRequest(signal: 'traces' | 'logs' | 'metrics', bytes: Uint8Array): ShownContent[] {
  if (signal === 'traces') {
    const { resourceSpans } = traceRequest.contentOf(bytes)
    return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(shown)))
  }
  if (signal === 'logs') {
    const { resourceLogs } = logsRequest.contentOf(bytes)
    return resourceLogs.flatMap(({ scopeLogs }) =>
      scopeLogs.flatMap(({ logRecords }) =>
        logRecords.map(({ body, attributes }) => shown({ name: String(body), attributes })),
      ),
    )
  }
  const { resourceMetrics } = metricsRequest.contentOf(bytes)
  return resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => ({ name, attributes: {} }))),
  )
}

function shown({
  name,
  attributes,
}: {
  readonly name: string
  readonly attributes: readonly AttributeSet[]
}): ShownContent {
  return { name, attributes: plainAttributes(attributes) }
}
