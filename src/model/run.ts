// The run: what is known of one pipeline. Merging is pure and commutative; `settle.ts` decides when a snapshot is taken of it.
import { observedJob, mergeJob, type Job } from './job.ts'
import { observedPipeline, observedProject, mergePipeline, type Pipeline } from './pipeline.ts'
import { mergeVersioned, type Versioned } from './versioned.ts'
import type { Millis } from './instant.ts'
import type { Observation, ProjectFacts, RunKey } from './observation.ts'

/** What is remembered of an attempt once its snapshot was taken: enough to know new work from old and to link to it. */
export interface Attempt {
  readonly attempt: number
  readonly status: string
  /** F, the finish that was exported. */
  readonly finish: Millis
  /** The newest second of the pipeline's record when the snapshot was taken. */
  readonly newestSecond: number
  readonly incomplete: boolean
  /** Number of its chunks so far, supplements included. */
  readonly chunks: number
  /** The ids it went out under: every later send of this attempt and its supplements uses them. */
  readonly trace: TraceContext
}

/**
 * All that trace and span ids are derived from, fixed with the snapshot of the first attempt. Ids themselves are a matter of
 * `telemetry/otlp/ids.ts`.
 */
export interface TraceContext {
  readonly scheme: 'instance' | 'platform'
  readonly profile: string
  /** The trace is this pipeline's: the run itself, or the root of its family. */
  readonly rootPipelineId: number
  /** Takes the trace id and the pipeline span's parent from here, where a TRACEPARENT variable is honoured. */
  readonly traceparent?: string | undefined
  /** The pipeline span's parent: the bridge that triggered it. */
  readonly parent?: ParentSpan | undefined
  /** A pipeline that triggered this one where it cannot be the parent: joined by a link. */
  readonly linked?: LinkedPipeline | undefined
}

/** Where its span is. An undefined `scheme` is that of the trace that links to it; an undefined `traceparent` means none. */
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

/** A run without its jobs: one row of the store. */
export interface RunHead {
  readonly key: RunKey
  readonly project: Versioned<ProjectFacts>
  /** Undefined while only events of its jobs were observed. */
  readonly pipeline?: Pipeline | undefined
  readonly attempts: readonly Attempt[]
}

/** A run with the jobs that were loaded: all of them, or those that an observation names. */
export interface Run extends RunHead {
  readonly jobs: ReadonlyMap<number, Job>
}

/** The run as one observation alone has it. */
export function observedRun(observation: Observation): Run {
  const pipeline = observedPipeline(observation)
  const jobs = new Map<number, Job>()
  for (const observed of observation.jobs) {
    const job = observedJob(observed, observation.origin)
    const twin = jobs.get(job.id)
    jobs.set(job.id, twin === undefined ? job : mergeJob(twin, job))
  }
  return {
    key: observation.key,
    project: observedProject(observation),
    ...(pipeline === undefined ? {} : { pipeline }),
    attempts: [],
    jobs,
  }
}

/**
 * Merges what was observed into what is known of one run: `merge(known, observed) → known'`. Commutative in everything observed; the
 * attempts are those of `known`. Returns `known` itself when nothing is new.
 */
export function mergeRun(known: Run, observed: Run): Run {
  const project = mergeVersioned(known.project, observed.project)
  const pipeline = mergePipeline(known.pipeline, observed.pipeline)
  const jobs = new Map(known.jobs)
  let moved = false
  for (const [id, job] of observed.jobs) {
    const before = jobs.get(id)
    const after = before === undefined ? job : mergeJob(before, job)
    if (after === before) continue
    jobs.set(id, after)
    moved = true
  }
  if (!moved && project === known.project && pipeline === known.pipeline) return known
  return { ...known, project, ...(pipeline === undefined ? {} : { pipeline }), jobs }
}

/** The last attempt of which a snapshot was taken, undefined before the first. */
export function lastAttempt(run: RunHead): Attempt | undefined {
  return run.attempts.at(-1)
}
