// A span that a job made itself and left among its artifacts, as it is stored until it is sent: its id is its own, its trace, its resource and the span
// above it are its job's. Pure.
import type { Millis } from './instant.ts'

/** What JSON does not distinguish is written out: whole numbers, which may have 64 bits, and others. */
export type OwnValue = string | boolean | { readonly int: string } | { readonly double: number } | readonly string[]

export type OwnAttributes = readonly (readonly [key: string, value: OwnValue])[]

export interface OwnSpan {
  /** 16 hex digits. */
  readonly id: string
  /** Another one of the same job; undefined: the job's own span. */
  readonly parent?: string | undefined
  readonly name: string
  /** Of the protocol: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly start: Millis
  readonly end: Millis
  readonly attributes: OwnAttributes
  readonly events?: readonly { readonly at: Millis; readonly name: string; readonly attributes: OwnAttributes }[]
  readonly links?: readonly OwnLink[]
  /** Of the protocol: 0 unset, 1 ok, 2 error. */
  readonly status: number
  readonly message?: string | undefined
  /** What was beyond what a span may have. */
  readonly dropped: { readonly attributes: number; readonly events: number; readonly links: number }
}

export interface OwnLink {
  /** 32 hex digits; undefined: the trace that the span is in. */
  readonly traceId?: string | undefined
  readonly spanId: string
  readonly attributes: OwnAttributes
}

/** A backend that takes a megabyte takes every part. */
const partBytes = 512 * 1024
/** What a span, an event, a link or an attribute costs besides its texts. */
const bytesOfOne = 100

/** So that each part fits one request. */
export function dividedSpans(spans: readonly OwnSpan[]): OwnSpan[][] {
  const parts: OwnSpan[][] = []
  let bytes = Infinity
  for (const span of spans) {
    const size = bytesOfOne + JSON.stringify(span).length * 2
    bytes += size
    if (bytes > partBytes) {
      parts.push([])
      bytes = size
    }
    parts.at(-1)?.push(span)
  }
  return parts
}
