// Declares the data from which a run's trace and span IDs are derived, and parses the W3C traceparent. Pure.

/** The data from which trace and span IDs are derived (`core/telemetry/otlp/ids.ts`). It is fixed when the snapshot of the first attempt is taken. */
export interface TraceContext {
  readonly scheme: 'instance' | 'platform'
  readonly profile: string
  /** The pipeline that the trace ID is derived from: the run itself, or the root of its family. */
  readonly rootPipelineId: number
  /** Trace ID and parent span from a TRACEPARENT variable, if the configuration allows it. */
  readonly traceparent?: string | undefined
  /** The bridge or job that triggered the pipeline. Its span is the parent. */
  readonly parent?: ParentSpan | undefined
  /**
   * The pipeline that triggered this one, if the triggering span cannot be the parent. This pipeline's span is then linked to the triggering pipeline
   * instead.
   */
  readonly linked?: LinkedPipeline | undefined
}

/** A pipeline in another trace. An undefined `scheme` means that both traces use the same scheme. */
export interface LinkedPipeline {
  readonly pipelineId: number
  readonly rootPipelineId: number
  readonly scheme?: TraceContext['scheme'] | undefined
  readonly traceparent?: string | undefined
}

export interface ParentSpan {
  readonly jobId: number
  readonly kind: 'job' | 'bridge'
}

/** The data that identifies the span of a job. */
export interface JobSpan {
  readonly trace: TraceContext
  readonly pipelineId: number
  readonly jobId: number
  readonly kind: 'job' | 'bridge'
  readonly salt?: string | undefined
  readonly name?: string | undefined
}

/** The data that identifies the span of a pipeline. */
export type PipelineSpan = Pick<JobSpan, 'trace' | 'pipelineId'> & { readonly attempt: number }

/** Matches a lower-case traceparent whose IDs are not zero (W3C Trace Context, "traceparent Header Field Values"). Version ff is forbidden. */
const traceparent = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s

/**
 * Returns a valid traceparent as version 00; undefined if it is invalid. For a higher version, only the IDs and the sampled bit are read, and
 * anything after a further dash is ignored (W3C Trace Context, "Versioning of traceparent").
 */
export function validTraceparent(value: string): string | undefined {
  const [trimmed, version, ids, flags = '', more] = traceparent.exec(value.trim()) ?? []
  if (version === '00') return more === undefined ? trimmed : undefined
  return ids && `00-${ids}-0${Number.parseInt(flags, 16) & 1}`
}
