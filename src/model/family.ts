// Determines which trace a pipeline belongs to and which span is its parent. It never guesses: if the chain of ancestors up to the root is not known,
// the pipeline gets its own trace and a link.
import type { Job } from './job.ts'
import type { SourcePipeline } from './observation.ts'
import type { RunHead } from './run.ts'
import type { LinkedPipeline, ParentSpan, TraceContext } from './trace-context.ts'

export interface Ancestor {
  readonly head: RunHead
  /** The ancestor's job that triggered the next pipeline in the chain, if it is known. */
  readonly trigger?: Job | undefined
}

export interface FamilyOptions {
  readonly scheme: TraceContext['scheme']
  readonly profile: string
  /** True if bridges of parent pipelines are added through REST. Then a bridge's span will be exported even if the bridge is not known yet. */
  readonly bridgesWillCome: boolean
}

/** Maximum number of generations of ancestors that are looked up. The platform allows far fewer. */
export const maxGenerations = 32

/** The pipeline that triggered this one; undefined for a root pipeline. */
export function parentOf(head: RunHead): { pipelineId: number; jobId?: number | undefined } | undefined {
  const source = head.pipeline?.record.facts.sourcePipeline
  if (source === undefined || source.pipelineId === head.key.pipelineId) return undefined
  return { pipelineId: source.pipelineId, jobId: source.jobId }
}

/** True if another pipeline triggered this one, even if that pipeline is not known. */
export function isTriggered(head: RunHead): boolean {
  const source = head.pipeline?.record.facts.source
  return source === 'parent_pipeline' || source === 'pipeline' || parentOf(head) !== undefined
}

/** Adds the facts that were found out about the pipeline that triggered the run. Facts from the run's own sources take precedence. */
export function withParent<R extends RunHead>(run: R, found: SourcePipeline): R {
  const { pipeline } = run
  if (pipeline === undefined) return run
  const { record } = pipeline
  const reported = record.facts.sourcePipeline
  if (reported !== undefined && (reported.pipelineId !== found.pipelineId || reported.jobId !== undefined)) return run
  const sourcePipeline = { ...found, ...reported }
  return { ...run, pipeline: { ...pipeline, record: { ...record, facts: { ...record.facts, sourcePipeline } } } }
}

/**
 * The trace in which a run is exported. `ancestors`: the ancestors that the store knows, parent first.
 *
 * Whether a run joins its parent's trace depends only on the run's own payloads and the configuration, never on which of the two was observed first.
 * So the parent's trace is known before its snapshot is taken, and a child or a link can already refer to it.
 */
export function traceContextOf(head: RunHead, ancestors: readonly Ancestor[], options: FamilyOptions): TraceContext {
  const { scheme, profile } = options
  const alone = { profile, ...ownTrace(head, scheme) }
  const parent = parentOf(head)
  if (parent === undefined) return alone
  const above = traceAbove(head, ancestors, options)
  const span = parentSpan(head, ancestors[0], options)
  if (above !== undefined && span !== undefined) return { profile, ...placeOf(above), parent: span }
  return { ...alone, linked: linkTo(parent.pipelineId, above, scheme) }
}

/** The fields that identify a trace. */
type Place = Pick<TraceContext, 'scheme' | 'rootPipelineId' | 'traceparent'>

function placeOf({ scheme, rootPipelineId, traceparent }: Place): Place {
  return { scheme, rootPipelineId, ...(traceparent === undefined ? {} : { traceparent }) }
}

function linkTo(pipelineId: number, there: Place | undefined, own: TraceContext['scheme']): LinkedPipeline {
  if (there === undefined) return { pipelineId, rootPipelineId: pipelineId }
  const { scheme, ...rest } = placeOf(there)
  return { pipelineId, ...rest, ...(scheme === own ? {} : { scheme }) }
}

function ownTrace({ key, pipeline }: RunHead, scheme: TraceContext['scheme']): Place {
  return placeOf({ scheme, rootPipelineId: key.pipelineId, traceparent: pipeline?.record.facts.traceparent })
}

/** The trace in which the parent was or will be exported; undefined if it is unknown. */
function traceAbove(
  head: RunHead,
  [parent, ...others]: readonly Ancestor[],
  options: FamilyOptions,
): Place | undefined {
  const known = parent === undefined ? undefined : traceOf(parent.head, others, options)
  return (
    known ?? traceOfPayloads([head, ...(parent === undefined ? [] : [parent, ...others].map(one => one.head))], options)
  )
}

function traceOf(head: RunHead, ancestors: readonly Ancestor[], options: FamilyOptions): Place | undefined {
  const exported = head.attempts[0]?.trace
  if (exported !== undefined) return exported
  if (head.pipeline === undefined) return undefined
  if (!isTriggered(head)) return ownTrace(head, options.scheme)
  if (parentSpan(head, undefined, options) !== undefined) return traceAbove(head, ancestors, options)
  // Enrichment may still find out which pipeline triggered this one, so until then its trace is unknown.
  return parentOf(head) === undefined ? undefined : ownTrace(head, options.scheme)
}

/**
 * The trace of the root pipeline that the payloads name. A pipeline that names itself as the root may merely be the first one in its own project,
 * because its parent can be in another project. So such a root is ignored.
 */
function traceOfPayloads(family: readonly RunHead[], { scheme }: FamilyOptions): Place | undefined {
  for (const { key, pipeline } of family) {
    const root = pipeline?.record.facts.rootPipelineId
    if (root !== undefined && root !== key.pipelineId) return { scheme, rootPipelineId: root }
  }
  return undefined
}

/** The span that triggered the run, if that span is certain to be exported. If undefined, the run gets its own trace. */
function parentSpan(head: RunHead, parent: Ancestor | undefined, options: FamilyOptions): ParentSpan | undefined {
  const { sourcePipeline: source, rootPipelineId } = head.pipeline?.record.facts ?? {}
  if (source?.jobId === undefined) return undefined
  // With the ID scheme `platform`, the trace ID is derived from the root that the payload names, even if that root is the pipeline itself.
  if (options.scheme === 'platform' && rootPipelineId === head.key.pipelineId) return undefined
  const { jobId, bridgesAreListed, startedByJob } = source
  if (bridgesAreListed !== true && startedByJob !== true && !options.bridgesWillCome) return undefined
  return { jobId, kind: parent?.trigger?.record.facts.kind ?? (startedByJob === true ? 'job' : 'bridge') }
}
