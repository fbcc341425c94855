// What the ids of a run's trace and spans are derived from, and the W3C traceparent. Pure.

/**
 * Everything that trace and span ids are derived from (`core/telemetry/otlp/ids.ts`), fixed with the snapshot of the first attempt.
 */
export interface TraceContext {
  readonly scheme: 'instance' | 'platform'
  readonly profile: string
  /** The pipeline that the trace is named after: the run itself, or the root of its family. */
  readonly rootPipelineId: number
  /** Trace id and parent span from a TRACEPARENT variable, if these are allowed. */
  readonly traceparent?: string | undefined
  /** The bridge that triggered the pipeline. */
  readonly parent?: ParentSpan | undefined
  /** The pipeline that triggered this one, if it cannot be the parent: the span gets a link to it. */
  readonly linked?: LinkedPipeline | undefined
}

/** An undefined `scheme` is that of the linking trace. */
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

/** What identifies the span of a job. */
export interface JobSpan {
  readonly trace: TraceContext
  readonly pipelineId: number
  readonly jobId: number
  readonly kind: 'job' | 'bridge'
  readonly salt?: string | undefined
  /** The job's name. */
  readonly name?: string | undefined
}

/** What identifies the span of a pipeline. */
export type PipelineSpan = Pick<JobSpan, 'trace' | 'pipelineId'> & { readonly attempt: number }

/** Ids that are not zero, lower case (W3C Trace Context, "traceparent Header Field Values"). Version ff is forbidden. */
const traceparent = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s

/**
 * The value as version 00 if it is valid; otherwise undefined. Of a higher version only the ids and the sampled bit are read, not what may follow after
 * another dash (the same specification, "Versioning of traceparent").
 */
export function validTraceparent(value: string): string | undefined {
  const [trimmed, version, ids, flags = '', more] = traceparent.exec(value.trim()) ?? []
  if (version === '00') return more === undefined ? trimmed : undefined
  return ids && `00-${ids}-0${Number.parseInt(flags, 16) & 1}`
}
