// Declares a span that a job recorded itself and stored among its artifacts. The span keeps its ID, and its trace, resource and topmost parent are
// those of the job. Pure.
import { defaultChunkBytes } from './chunk-size.ts'
import type { Millis } from './instant.ts'

/** The value of an attribute of a recorded span. JSON has a single number type, but OTLP has two: integers of up to 64 bits, and doubles. */
export type OwnValue = string | boolean | { readonly int: string } | { readonly double: number } | readonly string[]

export type OwnAttributes = readonly (readonly [key: string, value: OwnValue])[]

export interface OwnSpan {
  /** The span ID: 16 hex digits. */
  readonly id: string
  /** The ID of the parent span. If undefined, the job's span is the parent. */
  readonly parent?: string | undefined
  readonly name: string
  /** The span kind as in OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly start: Millis
  readonly end: Millis
  readonly attributes: OwnAttributes
  readonly events?: readonly { readonly at: Millis; readonly name: string; readonly attributes: OwnAttributes }[]
  readonly links?: readonly OwnLink[]
  /** The status code as in OTLP: 0 unset, 1 ok, 2 error. */
  readonly status: number
  readonly message?: string | undefined
  /** How many attributes, events and links were dropped because they exceeded the limits of a span. */
  readonly dropped: { readonly attributes: number; readonly events: number; readonly links: number }
}

export interface OwnLink {
  /** The trace ID of the linked span: 32 hex digits. If undefined, the linked span is in the same trace as the span itself. */
  readonly traceId?: string | undefined
  readonly spanId: string
  readonly attributes: OwnAttributes
}

/** Estimated size of a span beyond its JSON, bytes. */
const bytesOfOne = 100

/** Splits spans so that each part fits into one chunk. */
export function splitSpans(spans: readonly OwnSpan[]): OwnSpan[][] {
  const parts: OwnSpan[][] = []
  let bytes = Infinity
  for (const span of spans) {
    const size = bytesOfOne + JSON.stringify(span).length * 2
    bytes += size
    if (bytes > defaultChunkBytes) {
      parts.push([])
      bytes = size
    }
    parts.at(-1)?.push(span)
  }
  return parts
}
