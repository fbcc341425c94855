// Computes trace and span IDs, parents and links. They are deterministic: a pipeline has the same IDs at any time and on any replica.
//
// Scheme `instance` hashes IDs together with the instance's base URL. Scheme `platform` computes the IDs that the platform itself uses and injects
// into jobs as TRACEPARENT. Both schemes use SHA-256 over UTF-8, truncated to the length of the ID.
import { hash } from 'node:crypto'
import { isSpanContextValid, TraceFlags, type SpanContext } from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import type { JobSnapshot, Chunk } from '../../../model/chunk.ts'
import type { JobSpan, PipelineSpan } from '../../../model/trace-context.ts'
import type { TraceContext } from '../../../model/trace-context.ts'

/** The fields of a chunk that determine its trace and span IDs. */
export type Identified = Pick<Chunk, 'key' | 'trace' | 'attempt'>

export type IdentifiedJob = Pick<JobSnapshot, 'id' | 'kind' | 'salt'>

/** The reason why a span links to another span that is not its parent. */
export type LinkType = 'previous_attempt' | 'same_job' | 'upstream_pipeline'

export interface SpanLink {
  readonly type: LinkType
  readonly context: SpanContext
}

/**
 * The trace ID: 32 lower-case hex digits, never all zero. It is taken from the traceparent if the run uses one; otherwise it is derived from the root
 * pipeline.
 */
export function traceIdOf(trace: TraceContext, instance: string): string {
  return honoured(trace)?.traceId ?? traceIdOfRoot(trace, instance, trace.rootPipelineId)
}

/** Whether a trace ID is derived from the root pipeline, by either scheme, and not taken from a traceparent. */
export function isDerivedTraceId(traceId: string, instance: string, root: number): boolean {
  // In scheme `platform`, the trace ID is a number in the lower half, so the upper half is zero. A hash practically never begins with so many zeros.
  const scheme = traceId.startsWith('0000000000000000') ? 'platform' : 'instance'
  return traceIdOfRoot({ scheme }, instance, root) === traceId
}

/** The span ID for one attempt of a pipeline (default: the chunk's attempt): 16 lower-case hex digits, never all zero. */
export function pipelineSpanId({ key, trace, attempt }: Identified, ofAttempt: number = attempt): string {
  const salt = ofAttempt > 1 ? String(ofAttempt) : undefined
  return firstPipelineSpanId(trace, key.instance, trace.rootPipelineId, key.pipelineId, salt)
}

/** The span ID of a job or bridge. The salt distinguishes the spans of one job. */
export function jobSpanId(
  { key, trace }: Pick<Identified, 'key' | 'trace'>,
  { id, kind, salt }: IdentifiedJob,
): string {
  if (trace.scheme === 'instance') return hashed(8, salted(`${key.instance}\njob\n${id}`, '\n', salt))
  if (kind === 'bridge' && salt === undefined) return padded(8, id)
  return hashed(8, salted(`${trace.rootPipelineId}:${id}:export`, ':', salt))
}

/** Whether a span ID belongs to the chunk's pipeline or to one of its jobs. */
export function hasSpan(chunk: Identified & { readonly jobs: readonly IdentifiedJob[] }, spanId: string): boolean {
  return pipelineSpanId(chunk) === spanId || chunk.jobs.some(job => jobSpanId(chunk, job) === spanId)
}

/**
 * The parent of a pipeline's span: the first span of the bridge or job that triggered the pipeline; if there is none, the span in the traceparent;
 * otherwise undefined.
 */
export function parentOfPipeline(chunk: Identified): SpanContext | undefined {
  const { key, trace } = chunk
  if (trace.parent === undefined) return honoured(trace)
  const { jobId, kind } = trace.parent
  return { ...contextOf(traceIdOf(trace, key.instance), jobSpanId(chunk, { id: jobId, kind })), isRemote: true }
}

/** The span ID of a section of a job's log, by the section's ordinal. */
export const sectionSpanId = insideSpanId('section')
/** The span ID of a suite or case in a job's test report, by its ordinal. */
export const testSpanId = insideSpanId('test')

function insideSpanId(what: 'section' | 'test') {
  return ({ key, trace }: Pick<Identified, 'key' | 'trace'>, { id, salt }: IdentifiedJob, ordinal: number): string => {
    if (trace.scheme === 'instance') return hashed(8, salted(`${key.instance}\n${what}\n${id}\n${ordinal}`, '\n', salt))
    return hashed(8, salted(`${trace.rootPipelineId}:${id}:${what}:${ordinal}`, ':', salt))
  }
}

/** Links from a pipeline's span to the previous attempt, and to the triggering pipeline if its span cannot be the parent. */
export function linksOfPipeline(chunk: Identified): SpanLink[] {
  const { key, trace, attempt } = chunk
  const links: SpanLink[] = []
  if (attempt > 1) {
    const context = contextOf(traceIdOf(trace, key.instance), pipelineSpanId(chunk, attempt - 1))
    links.push({ type: 'previous_attempt', context })
  }
  if (trace.linked !== undefined) {
    const { pipelineId, rootPipelineId, scheme = trace.scheme, traceparent } = trace.linked
    const there = { ...trace, scheme, rootPipelineId, traceparent }
    const traceId = traceIdOf(there, key.instance)
    const spanId = firstPipelineSpanId(there, key.instance, rootPipelineId, pipelineId)
    links.push({ type: 'upstream_pipeline', context: { ...contextOf(traceId, spanId), isRemote: true } })
  }
  return links
}

/** Links from a later span of a job to the job's first span. */
export function linksOfJob(chunk: Identified, { id, kind, salt }: IdentifiedJob): SpanLink[] {
  if (salt === undefined) return []
  return [
    {
      type: 'same_job',
      context: contextOf(traceIdOf(chunk.trace, chunk.key.instance), jobSpanId(chunk, { id, kind })),
    },
  ]
}

/** The span context of a job in another chunk. */
export function contextOfJob(
  instance: string,
  { trace, pipelineId, jobId: id, kind, salt }: JobSpan,
): Pick<SpanContext, 'traceId' | 'spanId'> {
  const key = { instance, pipelineId }
  return { traceId: traceIdOf(trace, instance), spanId: jobSpanId({ key, trace }, { id, kind, salt }) }
}

/** The span context of a pipeline in another chunk. */
export function contextOfPipeline(
  instance: string,
  { trace, pipelineId, attempt }: PipelineSpan,
): Pick<SpanContext, 'traceId' | 'spanId'> {
  const chunk = { key: { instance, pipelineId }, trace, attempt }
  return { traceId: traceIdOf(trace, instance), spanId: pipelineSpanId(chunk) }
}

/** The span context of a sampled span. */
export function contextOf(traceId: string, spanId: string): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
}

function traceIdOfRoot({ scheme }: Pick<TraceContext, 'scheme'>, instance: string, root: number): string {
  return scheme === 'instance' ? hashed(16, `${instance}\n${root}`) : padded(16, root)
}

function firstPipelineSpanId(
  { scheme }: TraceContext,
  instance: string,
  root: number,
  pipelineId: number,
  salt?: string,
): string {
  if (scheme === 'instance') return hashed(8, salted(`${instance}\npipeline\n${pipelineId}`, '\n', salt))
  return hashed(8, salted(`pipeline:${root}:${pipelineId}`, ':', salt))
}

/** The span context in a valid traceparent. It is always marked as sampled, because all exported spans are. */
function honoured({ traceparent }: TraceContext): SpanContext | undefined {
  const parsed = traceparent === undefined ? null : parseTraceParent(traceparent)
  if (parsed === null || !isSpanContextValid(parsed)) return undefined
  return { ...contextOf(parsed.traceId, parsed.spanId), isRemote: true }
}

function salted(input: string, separator: string, salt: string | undefined): string {
  return salt === undefined ? input : input + separator + salt
}

/** The first bytes of a SHA-256 hash, as hex. If they are all zero, which the specification forbids, the hash itself is hashed. */
function hashed(bytes: number, input: string | Buffer): string {
  // Hashing directly to hex is three times as fast as going through a Buffer.
  const digest = hash('sha256', input, 'hex')
  const id = digest.slice(0, bytes * 2)
  return isZero(id) ? hashed(bytes, Buffer.from(digest, 'hex')) : id
}

/** Formats an integer as an ID of the given number of bytes, padded with zeros. */
function padded(bytes: number, number: number): string {
  const id = number.toString(16).padStart(bytes * 2, '0')
  return isZero(id) ? hashed(bytes, Buffer.from(id, 'hex')) : id
}

function isZero(id: string): boolean {
  return id.startsWith('0') && /^0+$/.test(id)
}
