// The protocol's numbers for a span's kind, status and flags.
import { SpanKind, TraceFlags, type SpanContext } from '@opentelemetry/api'

/** The protocol's kinds begin with "unspecified", which the API lacks. */
export const spanKinds = { pipeline: SpanKind.SERVER + 1, job: SpanKind.INTERNAL + 1 } as const

/** StatusCode of the protocol. */
export const statusCodes = { unset: 0, ok: 1, error: 2 } as const

/** Sampled (0x01), remoteness known (0x100), remote (0x200), of a span with this parent or link. */
export function flagsOf(other: SpanContext | undefined): number {
  return TraceFlags.SAMPLED | 0x100 | (other?.isRemote === true ? 0x200 : 0)
}
