// A span as the waterfall draws it: plain data, created from spans of this process or from a received request.
import { isActive } from '../model/status.ts'

export interface WaterfallSpan {
  readonly name: string
  readonly kind: 'pipeline' | 'job'
  /** The trace id as 32 hex digits. */
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string | undefined
  /** The start of the span as Unix time in ms. */
  readonly start: number
  readonly end: number
  readonly status: 'ok' | 'error' | 'unset'
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Returns the platform's status, or one derived from the status of the span. */
export function statusOfSpan({ attributes, kind, status }: WaterfallSpan): string {
  const reported = attributes[`${kind}.status`]
  if (typeof reported === 'string') return reported
  return { ok: 'success', error: 'failed', unset: 'unknown' }[status]
}

/** Whether the job's duration is zero because the job never ran, and not because it was quick. */
export function neverRan(span: WaterfallSpan): boolean {
  if (span.kind === 'pipeline' || span.start !== span.end || isWaiting(span)) return false
  const status = statusOfSpan(span)
  return status === 'failed' ? span.attributes['job.duration'] === 0 : status !== 'success'
}

/** Whether the span belongs to a job that has not started yet; always false for pipelines. */
export function isWaiting(span: WaterfallSpan): boolean {
  return span.kind === 'job' && span.start === span.end && isActive(statusOfSpan(span))
}

/** Returns how long the job waited in the queue, ms. */
export function queuedFor({ attributes, kind }: WaterfallSpan): number {
  const queued = attributes[`${kind}.queued_duration`]
  return kind === 'job' && typeof queued === 'number' && queued > 0 ? queued : 0
}
