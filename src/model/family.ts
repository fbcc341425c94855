// Families: which trace a pipeline belongs to and which span is its parent. Never guessed: where the chain to the root
// cannot be known, the pipeline has a trace of its own and a link.
import type { Job } from './job.ts'
import type { SourcePipeline } from './observation.ts'
import type { ParentSpan, RunHead, TraceContext } from './run.ts'

/** What the store knows of one ancestor. */
export interface Ancestor {
  readonly head: RunHead
  /** The job of it that triggered the pipeline below, where it is known. */
  readonly trigger?: Job | undefined
}

export interface FamilyOptions {
  readonly scheme: TraceContext['scheme']
  readonly profile: string
  /** True when REST completes parents with their bridges, so that a bridge's span will come though it is not known yet. */
  readonly bridgesWillCome: boolean
}

/** How many generations the chain is followed; the platform allows far fewer. */
export const maxGenerations = 32

/** The pipeline that triggered this one, undefined for a root. */
export function parentOf(head: RunHead): { pipelineId: number; jobId?: number | undefined } | undefined {
  const source = head.pipeline?.record.facts.sourcePipeline
  if (source === undefined || source.pipelineId === head.key.pipelineId) return undefined
  return { pipelineId: source.pipelineId, jobId: source.jobId }
}

/** True when another pipeline triggered this one, also where it is not known which. */
export function isTriggered(head: RunHead): boolean {
  const source = head.pipeline?.record.facts.source
  return source === 'parent_pipeline' || source === 'pipeline' || parentOf(head) !== undefined
}

/** The run with what was found out of the pipeline that triggered it; what its own sources told of that stays. */
export function withParent<R extends RunHead>(run: R, found: SourcePipeline): R {
  const { pipeline } = run
  if (pipeline === undefined) return run
  const { record } = pipeline
  const told = record.facts.sourcePipeline
  if (told !== undefined && (told.pipelineId !== found.pipelineId || told.jobId !== undefined)) return run
  const sourcePipeline = { ...found, ...told }
  return { ...run, pipeline: { ...pipeline, record: { ...record, facts: { ...record.facts, sourcePipeline } } } }
}

/** The trace a run is exported in. `ancestors` is the chain as far as the store knows it, parent first. */
export function traceContextOf(head: RunHead, ancestors: readonly Ancestor[], options: FamilyOptions): TraceContext {
  const { scheme, profile } = options
  const facts = head.pipeline?.record.facts
  const own = head.key.pipelineId
  const parent = parentOf(head)
  if (parent === undefined) {
    return { scheme, profile, rootPipelineId: own, ...withTraceparent(facts?.traceparent) }
  }
  const root = rootOf(head, ancestors)
  const span = parentSpan(head, ancestors[0], options)
  if (root !== undefined && span !== undefined) {
    return { scheme, profile, rootPipelineId: root.pipelineId, parent: span, ...withTraceparent(root.traceparent) }
  }
  const linked = { pipelineId: parent.pipelineId, rootPipelineId: root?.pipelineId ?? parent.pipelineId }
  return { scheme, profile, rootPipelineId: own, linked, ...withTraceparent(facts?.traceparent) }
}

/** The root as the payload names it, or as the chain through the store shows it; undefined when the chain breaks. */
function rootOf(
  head: RunHead,
  ancestors: readonly Ancestor[],
): { pipelineId: number; traceparent?: string | undefined } | undefined {
  for (const { head: ancestor } of ancestors) {
    const frozen = ancestor.attempts[0]?.trace
    if (frozen !== undefined) return { pipelineId: frozen.rootPipelineId, traceparent: frozen.traceparent }
    if (ancestor.pipeline !== undefined && !isTriggered(ancestor)) {
      return { pipelineId: ancestor.key.pipelineId, traceparent: ancestor.pipeline.record.facts.traceparent }
    }
  }
  for (const known of [head, ...ancestors.map(({ head: ancestor }) => ancestor)]) {
    const root = known.pipeline?.record.facts.rootPipelineId
    if (root !== undefined && root !== known.key.pipelineId) return { pipelineId: root }
  }
  return undefined
}

function parentSpan(head: RunHead, parent: Ancestor | undefined, options: FamilyOptions): ParentSpan | undefined {
  const source = head.pipeline?.record.facts.sourcePipeline
  if (source?.jobId === undefined) return undefined
  if (parent?.trigger !== undefined) return { jobId: source.jobId, kind: parent.trigger.record.facts.kind }
  if (source.bridgesAreTold === true || options.bridgesWillCome) return { jobId: source.jobId, kind: 'bridge' }
  return undefined
}

function withTraceparent(traceparent: string | undefined): { traceparent?: string } {
  return traceparent === undefined ? {} : { traceparent }
}
