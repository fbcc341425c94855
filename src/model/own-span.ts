// A span that a job recorded itself and left among its artifacts. It keeps its id; trace, resource and the topmost parent are those of the job. Pure.
import { defaultChunkBytes } from './chunk-size.ts'
import type { Millis } from './instant.ts'

/** JSON has one type of number, OTLP has two: integers, of up to 64 bits, and doubles. */
export type OwnValue = string | boolean | { readonly int: string } | { readonly double: number } | readonly string[]

export type OwnAttributes = readonly (readonly [key: string, value: OwnValue])[]

export interface OwnSpan {
  /** 16 hex digits. */
  readonly id: string
  /** The id of another one; undefined: the span of the job. */
  readonly parent?: string | undefined
  readonly name: string
  /** As in OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly start: Millis
  readonly end: Millis
  readonly attributes: OwnAttributes
  readonly events?: readonly { readonly at: Millis; readonly name: string; readonly attributes: OwnAttributes }[]
  readonly links?: readonly OwnLink[]
  /** As in OTLP: 0 unset, 1 ok, 2 error. */
  readonly status: number
  readonly message?: string | undefined
  /** How many were beyond the limits of a span. */
  readonly dropped: { readonly attributes: number; readonly events: number; readonly links: number }
}

export interface OwnLink {
  /** 32 hex digits; undefined: the trace of the span itself. */
  readonly traceId?: string | undefined
  readonly spanId: string
  readonly attributes: OwnAttributes
}

/** Bytes of a span besides its JSON. */
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
