// Examines the spans that arrived across several lives of a daemon, each of which identifies itself in its requests: which spans arrived again, and
// whether the end of a life explains that.
import { expect } from 'vitest'
import { patient } from '../support/otlp-receiver.ts'
import type { ReceivedRequest, ReceivedSpan } from '../support/otlp-decode.ts'

/** Number of requests that the daemon sends concurrently. The end of one life can leave at most this many outcomes unknown. */
export const inFlight = 4

/** Returns the environment variables that make a life of the daemon identify itself in its requests, and wait long for the receiver's responses. */
export function nameLife(life: number): NodeJS.ProcessEnv {
  return { ...patient, OTEL_EXPORTER_OTLP_HEADERS: `x-life=${life}` }
}

export interface Arrivals {
  /** Each span that arrived, listed once. */
  readonly once: readonly ReceivedSpan[]
  /** Number of requests that arrived again in a later life, in whole or in part. */
  readonly repeated: number
  /** One sentence for each span that arrived again without an explanation. */
  readonly unexplained: readonly string[]
}

/**
 * Determines which spans arrived again, and which of these are unexplained. A life records the outcome of a request before another request takes its
 * place, so the end of a life leaves at most `inFlight` outcomes unknown. A span that arrives again within one life is never explained. Repeated
 * spans must be identical.
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
      if (lifeOf(request) === lifeOf(before.request))
        unexplained.push(`${span.name} ${span.spanId} came twice in life ${lifeOf(request)}`)
    }
  }
  for (const [life, some] of Map.groupBy(repeated, lifeOf)) {
    if (some.length > inFlight) unexplained.push(`${some.length} requests of life ${life} came again`)
  }
  return { once: [...last.values()].map(({ span }) => span), repeated: repeated.size, unexplained }
}

function lifeOf({ headers }: ReceivedRequest): string {
  return String(headers['x-life'])
}
