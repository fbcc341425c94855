// A change (a merge request), as reported by webhook events and by its pipelines. Its key is its target project plus its number (iid) in that
// project. Merging reports is pure and commutative.
import { earliest, later, second, type Millis } from '../../../model/instant.ts'
import { either, knownOf, mergeVersioned, versioned, versionOf, type Versioned } from '../../../model/versioned.ts'
import { inMergeTrain } from '../../../model/pipeline.ts'
import type { ProjectFacts } from '../../../model/observation.ts'
import type { Run } from '../../../model/run.ts'

/** The states of a change, as defined by the semantic conventions. `wip`: a draft, or a change that is being merged. */
export const changeStates = ['open', 'wip', 'closed', 'merged'] as const
export type ChangeState = (typeof changeStates)[number]

/** The facts that the newest event reports about a change. */
export interface ChangeFacts {
  readonly state: ChangeState
  readonly title?: string | undefined
  /** `head`: the source branch. `base`: the target branch. */
  readonly head?: string | undefined
  readonly base?: string | undefined
}

/** One report of a change, or several merged reports. */
export interface Change {
  readonly instance: string
  /** The target project. */
  readonly project: ProjectFacts
  readonly iid: number
  readonly event?: Versioned<ChangeFacts> | undefined
  readonly createdAt?: Millis | undefined
  /** True if the opening of the change was reported, so that no earlier event can be missing. */
  readonly isWhole?: true | undefined
  /** The time at which the change was last opened, closed, reopened or merged. */
  readonly stateAt?: Millis | undefined
  /** The time of the first approval, even if it was revoked later. */
  readonly approvedAt?: Millis | undefined
  readonly mergedAt?: Millis | undefined
  /** The first pipeline of the change. */
  readonly pipeline?: ChangePipeline | undefined
  /** The time at which the change's first pipeline in a merge train was created. */
  readonly trainAt?: Millis | undefined
}

export interface ChangePipeline {
  readonly id: number
  /** The project in which the pipeline ran. For a pipeline that ran in a fork, this is the fork. */
  readonly projectId: number
  readonly createdAt: Millis
}

/** A change in the form that all other code uses. `stateAt`: for a draft, the time at which it was opened. */
export type ChangeView = ChangeFacts & Pick<Change, (typeof viewed)[number]>

const viewed = ['createdAt', 'stateAt', 'approvedAt', 'mergedAt', 'pipeline', 'trainAt'] as const

/** Returns the view of a change; undefined while only its pipelines are known. A merged change stays merged. */
export function viewChange(change: Change): ChangeView | undefined {
  const { event, mergedAt } = change
  if (event === undefined) return undefined
  const known = Object.fromEntries(viewed.map(name => [name, change[name]])) as Pick<Change, (typeof viewed)[number]>
  return { ...event.facts, ...knownOf({ state: mergedAt === undefined ? event.facts.state : 'merged', ...known }) }
}

/**
 * Merges two reports of a change. The merge is commutative, associative and idempotent, except for the project: it may be renamed, so the last report
 * wins.
 */
export function mergeChange(known: Change, reported: Change): Change {
  const { instance, iid } = known
  return knownOf({
    ...{ instance, iid, project: { ...known.project, ...reported.project } },
    event: either(known.event, reported.event, mergeVersioned),
    createdAt: earliest([known.createdAt, reported.createdAt]),
    isWhole: known.isWhole ?? reported.isWhole,
    stateAt: later(known.stateAt, reported.stateAt),
    approvedAt: earliest([known.approvedAt, reported.approvedAt]),
    mergedAt: earliest([known.mergedAt, reported.mergedAt]),
    pipeline: either(known.pipeline, reported.pipeline, first),
    trainAt: earliest([known.trainAt, reported.trainAt]),
  })
}

/**
 * Adds a version to the facts of a change. Some event times are in whole seconds. If two events fall in the same second, the one with the later stage
 * is newer.
 */
export function observedChange(facts: ChangeFacts, at: Millis): Versioned<ChangeFacts> {
  return versioned(versionOf(second(at), ranks[facts.state], Math.round(at)), facts)
}

/** Returns the change that a run reports; undefined for a pipeline without a merge request. */
export function changeOfRun({
  key,
  project: { facts: project },
  pipeline,
  mergeRequestEvent,
}: Pick<Run, 'key' | 'project' | 'pipeline' | 'mergeRequestEvent'>): Change | undefined {
  const { mergeRequest } = pipeline?.record.facts ?? {}
  const createdAt = pipeline?.times.createdAt
  if (mergeRequest === undefined || createdAt === undefined) return undefined
  const { iid, targetProjectId = project.id } = mergeRequest
  return {
    instance: key.instance,
    project: targetProjectId === project.id ? project : { id: targetProjectId },
    iid,
    pipeline: { id: key.pipelineId, projectId: project.id, createdAt },
    ...(mergeRequestEvent === inMergeTrain && { trainAt: createdAt }),
  }
}

/** Returns the earlier pipeline. If both were created at the same time, returns the one with the lower id. */
function first(a: ChangePipeline, b: ChangePipeline): ChangePipeline {
  return b.createdAt < a.createdAt || (b.createdAt === a.createdAt && b.id < a.id) ? b : a
}

const ranks: Readonly<Record<ChangeState, number>> = { wip: 0, open: 1, closed: 2, merged: 3 }

export const changeMeasures = ['pipeline', 'approval', 'merge', 'train'] as const
export type ChangeMeasure = (typeof changeMeasures)[number]

/** The times of a change that have already been counted. Each is counted once. */
export type CountedTimes = Readonly<Partial<Record<ChangeMeasure, ChangeTime>>>

export interface ChangeTime {
  /** The time at which the change was approved or merged, or had its first pipeline. For the merge train, it is the time of the merge. */
  readonly at: Millis
  /** The time since the change was created, ms. For the merge train, it is the time since the change's first pipeline in the train was created. */
  readonly took: Millis
}

/** One of the times of a change, with the attributes of its metric point. */
export interface ChangeFigures extends ChangeTime {
  readonly measure: ChangeMeasure
  /** The branches, as named by the platform. */
  readonly head?: string | undefined
  readonly base?: string | undefined
}

/**
 * Returns the times that are known but not yet counted, earliest first. Approval, pipeline and merge train are counted only if the opening of the
 * change was reported. Otherwise an earlier event may have been missed.
 */
export function uncounted(change: Change, counted: CountedTimes): readonly (ChangeTime & { measure: ChangeMeasure })[] {
  const { createdAt, isWhole, approvedAt, mergedAt, pipeline, trainAt } = change
  if (createdAt === undefined) return []
  const spans: Record<ChangeMeasure, readonly [from: Millis | undefined, to: Millis | undefined]> = {
    pipeline: [createdAt, isWhole && pipeline?.createdAt],
    approval: [createdAt, isWhole && approvedAt],
    merge: [createdAt, mergedAt],
    train: [isWhole && trainAt, mergedAt],
  }
  return changeMeasures
    .flatMap(measure => {
      const [from, at] = spans[measure]
      return from === undefined || at === undefined || counted[measure] !== undefined
        ? []
        : [{ measure, at, took: Math.max(0, at - from) }]
    })
    .sort((a, b) => a.at - b.at)
}
