// Declares the run, which is everything known about one pipeline, and merges observations into it. Pure.
//
// 1. An observation is converted to a run. Its facts get a version, by which older and newer facts are distinguished.
// 2. Two runs are merged field by field: project, pipeline (`pipeline.ts`) and each job (`job.ts`). The newer version wins, and a known value is
//    never replaced by an unknown one (`versioned.ts`).
// 3. If nothing is new, the known run itself is returned, and nothing is written.
//
// So observations give the same run in any order and with any repetition. The order of arrival cannot decide, because webhooks overtake each other: a
// `failed` that is redelivered during a retry would close the run. `settle.ts` decides when the snapshot is taken.
import { observedJob, mergeJob, type Job } from './job.ts'
import { isFromRest, observedPipeline, observedProject, mergePipeline, type Pipeline } from './pipeline.ts'
import { either, knownOf, mergeVersioned, type Versioned } from './versioned.ts'
import type { Millis } from './instant.ts'
import type { TraceContext } from './trace-context.ts'
import type { PipelineSnapshot } from './chunk.ts'
import type { MergeRequest, Observation, ObservedPipeline, ProjectFacts, RunKey } from './observation.ts'

/** The facts of an attempt that are stored after its snapshot. They suffice to distinguish new work from old and to link to the attempt. */
export interface Attempt {
  readonly attempt: number
  readonly status: string
  /** The finish time (F) that was exported for the attempt. */
  readonly finish: Millis
  /**
   * The newest time in the observations of the pipeline when the snapshot was taken, in Unix seconds. It is the first part of the version of the
   * pipeline's record.
   */
  readonly newestSecond: number
  readonly incomplete: boolean
  /** Number of the attempt's chunks so far, including supplements. */
  readonly chunks: number
  /** The data that the attempt's IDs are derived from. Every later export of this attempt and its supplements uses it. */
  readonly trace: TraceContext
  /**
   * The contents of the attempt's chunks. Undefined if the attempt was not to be exported, or if the run was restored from a tombstone
   * (`tombstone.ts`).
   */
  readonly exported?: ExportedAttempt | undefined
}

/** The contents of an attempt's chunks other than their jobs. */
export interface ExportedAttempt {
  /** The pipeline as it was exported in chunk 1 of the attempt. */
  readonly pipeline: PipelineSnapshot
  /** The number of chunks that the attempt's snapshot consisted of. Later chunks contain supplements or job internals. */
  readonly chunks: number
  readonly at: Millis
}

/** A run without its jobs. The store has one row for it. */
export interface RunHead {
  readonly key: RunKey
  readonly project: Versioned<ProjectFacts>
  /** The merged facts of the pipeline itself. Undefined while only job events of the pipeline were observed. */
  readonly pipeline?: Pipeline | undefined
  readonly attempts: readonly Attempt[]
  /** The merge request as it appears in a list, with its title. The platform's response about the pipeline itself contains only the iid. */
  readonly listedMergeRequest?: MergeRequest | undefined
  /**
   * The pipeline's facts as reported by a list. They are deleted once the platform's response about the pipeline itself is observed, or a webhook
   * with the same status as in the list.
   */
  readonly listed?: ObservedPipeline | undefined
  /** The kind of a merge request pipeline. It never changes, and not every source reports it. */
  readonly mergeRequestEvent?: string | undefined
}

/** A run with the jobs that were loaded: all its jobs, or only those that an observation names. */
export interface Run extends RunHead {
  readonly jobs: ReadonlyMap<number, Job>
}

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
    ...(observation.mergeRequestEvent !== undefined && { mergeRequestEvent: observation.mergeRequestEvent }),
    attempts: [],
    jobs,
  }
}

/**
 * Merges observations into the known run: `merge(known, observed) → known'`. The merge is commutative in all observed facts, but the attempts are
 * always those of `known`. Returns `known` itself if nothing is new.
 */
export function mergeRun(known: Run, observed: Run): Run {
  const project = mergeVersioned(known.project, observed.project)
  const pipeline = mergePipeline(known.pipeline, observed.pipeline)
  // No platform reports two different kinds of merge request pipeline for one pipeline. If one did, the choice must not depend on the order of the
  // reports.
  const mergeRequestEvent = either(known.mergeRequestEvent, observed.mergeRequestEvent, (a, b) => (a < b ? a : b))
  const jobs = new Map(known.jobs)
  let moved = false
  for (const [id, job] of observed.jobs) {
    const before = jobs.get(id)
    const after = before === undefined ? job : mergeJob(before, job)
    if (after === before) continue
    jobs.set(id, after)
    moved = true
  }
  const isSame =
    project === known.project && pipeline === known.pipeline && mergeRequestEvent === known.mergeRequestEvent
  const isListed = known.listed !== undefined && !saysAsMuch(observed, known.listed)
  if (!moved && isSame && isListed === (known.listed !== undefined)) return known
  const { listed, ...rest } = known
  return { ...rest, ...(isListed && { listed }), project, ...knownOf({ pipeline, mergeRequestEvent }), jobs }
}

/**
 * Whether an observation makes the facts from a list obsolete. The platform's response about the pipeline itself always does, because it is newer
 * than the list. A webhook does so only if it has the same status as the list.
 */
function saysAsMuch({ pipeline }: Run, { facts }: ObservedPipeline): boolean {
  if (pipeline === undefined) return false
  const { record } = pipeline
  return isFromRest(record.version) || record.facts.status === facts.status
}

/** The last attempt that has a snapshot; undefined before the first snapshot. */
export function lastAttempt(run: RunHead): Attempt | undefined {
  return run.attempts.at(-1)
}
