// Finds the spans that arrived more than once from a daemon that was killed and restarted, and checks whether a kill explains that. Each process of
// the daemon sends its number with every request.
import { expect } from 'vitest'
import { patient } from '../support/otlp-receiver.ts'
import type { ReceivedRequest, ReceivedSpan } from '../support/otlp-decode.ts'

/** Number of requests that the daemon sends concurrently. When a process ends, the outcome of at most this many requests is unknown. */
export const inFlight = 4

/** Returns the environment variables that make a daemon process send this number with its requests, and wait long for the receiver's responses. */
export function numberProcess(processNumber: number): NodeJS.ProcessEnv {
  return { ...patient, OTEL_EXPORTER_OTLP_HEADERS: `x-process=${processNumber}` }
}

export interface Arrivals {
  /** Each span that arrived, listed once. */
  readonly once: readonly ReceivedSpan[]
  /** Number of requests of which at least a part arrived again from a later process. */
  readonly repeated: number
  /** One sentence for each span that arrived again although no kill explains it. */
  readonly unexplained: readonly string[]
}

/**
 * Finds the spans that arrived again, and those among them that no kill explains. A process records the outcome of a request before another request
 * takes its place, so when it ends, at most `inFlight` outcomes are unknown. No kill explains a span that arrives twice from the same process.
 * Repeated spans must be identical.
 */
export function arrivals(requests: readonly ReceivedRequest[]): Arrivals {
  const last = new Map<string, { span: ReceivedSpan; request: ReceivedRequest }>()
  const repeated = new Set<ReceivedRequest>()
  const unexplained: string[] = []
  for (const request of requests.filter(({ kept }) => kept)) {
    for (const span of request.spans) {
      const before = last.get(span.spanId)
      last.set(span.spanId, { span, request })
      if (before === undefined) continue
      expect(span).toEqual(before.span)
      repeated.add(before.request)
      if (processOf(request) === processOf(before.request))
        unexplained.push(`${span.name} ${span.spanId} arrived twice from process ${processOf(request)}`)
    }
  }
  for (const [processNumber, some] of Map.groupBy(repeated, processOf)) {
    if (some.length > inFlight) unexplained.push(`${some.length} requests of process ${processNumber} arrived again`)
  }
  return { once: [...last.values()].map(({ span }) => span), repeated: repeated.size, unexplained }
}

function processOf({ headers }: ReceivedRequest): string {
  return String(headers['x-process'])
}
