// Numbers of the protocol that every span has: its kind, its status, its flags.
import { SpanKind, TraceFlags, type SpanContext } from '@opentelemetry/api'

/** The protocol's kinds begin with an "unspecified" that the API does not have. */
export const spanKinds = { pipeline: SpanKind.SERVER + 1, job: SpanKind.INTERNAL + 1 } as const

/** StatusCode of the protocol. */
export const statusCodes = { unset: 0, ok: 1, error: 2 } as const

/** What is exported is sampled. Beside that: that it is known whether the other span is remote, and whether it is. */
export function flagsOf(other: SpanContext | undefined): number {
  return TraceFlags.SAMPLED | 0x100 | (other?.isRemote === true ? 0x200 : 0)
}
