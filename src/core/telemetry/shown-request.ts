// A request as people see it: the names and attributes of what it has.
import { logsRequest, metricsRequest, traceRequest } from './otlp/messages.ts'
import { plainAttributes, type AttributeSet } from './otlp/attribute.ts'

export interface ShownContent {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Spans, log records or metrics of a request in protobuf. Throws DataError if it is damaged. */
export function shownRequest(signal: 'traces' | 'logs' | 'metrics', bytes: Uint8Array): ShownContent[] {
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
