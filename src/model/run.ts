// The run: everything known about one pipeline, and how observations are merged into it. Pure.
//
// 1. An observation becomes a run of its own: its facts get a version, which says how new they are.
// 2. Two runs are merged field by field: project, pipeline (`pipeline.ts`) and each job (`job.ts`). The newer version wins; a known value is never
//    replaced by an unknown one (`versioned.ts`).
// 3. If nothing is new, the known run itself is returned, and nothing is written.
//
// So any order and repetition of observations gives the same run. The order of arrival cannot be the rule: webhooks overtake each other, and a `failed`
// that is redelivered during a retry would close it. `settle.ts` decides when the snapshot is taken.
import { observedJob, mergeJob, type Job } from './job.ts'
import { isFromRest, observedPipeline, observedProject, mergePipeline, type Pipeline } from './pipeline.ts'
import { either, knownOf, mergeVersioned, type Versioned } from './versioned.ts'
import type { Millis } from './instant.ts'
import type { TraceContext } from './trace-context.ts'
import type { PipelineSnapshot } from './chunk.ts'
import type { MergeRequest, Observation, ObservedPipeline, ProjectFacts, RunKey } from './observation.ts'

/** The stored facts of an attempt after its snapshot: enough to distinguish new work from old, and to link to it. */
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
  /** The source of its ids, for every later export of this attempt and its supplements. */
  readonly trace: TraceContext
  /** Undefined if it was not to be exported, or if it is forgotten (`tombstone.ts`). */
  readonly exported?: ExportedAttempt | undefined
}

/** What an attempt's chunks have besides their jobs. */
export interface ExportedAttempt {
  /** The pipeline as chunk 1 has it. */
  readonly pipeline: PipelineSnapshot
  /** The number of its first chunks. Later ones are supplements and insides of jobs. */
  readonly chunks: number
  readonly at: Millis
}

/** A run without its jobs: one row of the store. */
export interface RunHead {
  readonly key: RunKey
  readonly project: Versioned<ProjectFacts>
  /** Undefined as long as only job events were observed. */
  readonly pipeline?: Pipeline | undefined
  readonly attempts: readonly Attempt[]
  /** The merge request as a list named it, with its title: the answer about the pipeline itself names only its iid. */
  readonly listedMergeRequest?: MergeRequest | undefined
  /** The facts of the pipeline in a list, until an answer about the pipeline itself, or a webhook, has as much. */
  readonly listed?: ObservedPipeline | undefined
  /** The kind of a merge request pipeline. It never changes, and not every source knows it. */
  readonly mergeRequestEvent?: string | undefined
}

/** A run with the jobs that were loaded: all, or only those that an observation names. */
export interface Run extends RunHead {
  readonly jobs: ReadonlyMap<number, Job>
}

/** The run as a single observation reports it. */
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
 * Merges observations into the known run: `merge(known, observed) → known'`. Commutative in everything observed; the
 * attempts are those of `known`. Returns `known` itself when nothing is new.
 */
export function mergeRun(known: Run, observed: Run): Run {
  const project = mergeVersioned(known.project, observed.project)
  const pipeline = mergePipeline(known.pipeline, observed.pipeline)
  // No platform reports two different ones. If one did, the choice must not depend on their order.
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

/** An answer about the pipeline itself is newer than the list; a webhook has as much only if it has the same status. */
function saysAsMuch({ pipeline }: Run, { facts }: ObservedPipeline): boolean {
  if (pipeline === undefined) return false
  const { record } = pipeline
  return isFromRest(record.version) || record.facts.status === facts.status
}

/** The last attempt that has a snapshot; undefined before the first. */
export function lastAttempt(run: RunHead): Attempt | undefined {
  return run.attempts.at(-1)
}
