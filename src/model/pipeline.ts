// Merges the pipeline's own fields. It determines which observation is newest, which source wins for fields that sources spell differently, and what
// kind of ref the pipeline ran for.
import { knownOf, mergeVersioned, versioned, versionOf, type Owner, type Version, type Versioned } from './versioned.ts'
import { later, latest, second } from './instant.ts'
import { isTerminal } from './status.ts'
import type { MergeRequest, Observation, PipelineFacts, PipelineTimes, ProjectFacts } from './observation.ts'

export interface Pipeline {
  readonly record: Versioned<PipelineFacts>
  readonly times: PipelineTimes
}

/** REST reports a ref with this prefix for a merge request pipeline, but webhooks report the source branch. */
const mergeRequestRefs = 'refs/merge-requests/'

/**
 * Fields that sources spell differently, each with a rule for which value wins. For all other fields the newest observation wins; if two have the
 * same second, the one from REST wins.
 */
const fieldOwners: Readonly<Partial<Record<keyof PipelineFacts, Owner>>> = {
  /** For the ref, the name of the source branch wins if it is known. */
  ref: (a, b) => {
    const aIsBranch = !String(a).startsWith(mergeRequestRefs)
    const bIsBranch = !String(b).startsWith(mergeRequestRefs)
    return aIsBranch === bIsBranch ? undefined : aIsBranch
  },
  /**
   * The most complete description of the merge request wins. Webhooks report the whole merge request, the cross-project list reports its iid and
   * title, and a pipeline's ref only its iid.
   */
  mergeRequest: (a, b) => {
    const [ofA, ofB] = [completeness(a), completeness(b)]
    return ofA === ofB ? undefined : ofA > ofB
  },
}

function completeness(mergeRequest: unknown): number {
  const { id, title } = mergeRequest as MergeRequest
  return id !== undefined ? 2 : title !== undefined ? 1 : 0
}

const refOfMergeRequest = /^refs\/merge-requests\/([1-9]\d*)\/(head|merge|train)$/

/** Parses the iid from the ref of a merge request, such as `refs/merge-requests/7/head`, `/merge` or `/train`. */
export function mergeRequestOfRef(ref: string | undefined): MergeRequest | undefined {
  const iid = Number(refOfMergeRequest.exec(ref ?? '')?.[1])
  return Number.isSafeInteger(iid) ? { iid } : undefined
}

/** Derives the platform's name for the kind of a merge request pipeline from its ref, such as `refs/merge-requests/7/head`. */
export function mergeRequestEventOfRef(ref: string | undefined): string | undefined {
  const kind = refOfMergeRequest.exec(ref ?? '')?.[2]
  return kind === undefined ? undefined : mergeRequestEvents[kind]
}

/** The platform's name for a pipeline in a merge train. */
export const inMergeTrain = 'merge_train'

const mergeRequestEvents: Readonly<Record<string, string>> = {
  head: 'detached',
  merge: 'merged_result',
  train: inMergeTrain,
}

/**
 * Converts one observation of a pipeline. The observation with the latest time, of the pipeline or of one of its jobs, is the newest. If two have the
 * same second, the terminal one is newer, then the one from REST, then the one whose status sorts last by name.
 */
export function observedPipeline(observation: Observation): Pipeline | undefined {
  const { pipeline, origin } = observation
  if (pipeline === undefined) return undefined
  const { facts, times } = pipeline
  const isRest = origin === 'rest' ? 1 : 0
  const version = versionOf(newestSecond(observation), isTerminal(facts.status) ? 1 : 0, isRest, facts.status)
  return { record: versioned(version, facts), times: knownOf(times) }
}

function newestSecond({ pipeline, origin, jobs }: Observation): number {
  const { createdAt, finishedAt, updatedAt } = pipeline?.times ?? {}
  let newest = latest([createdAt, finishedAt, origin === 'rest' ? updatedAt : undefined])
  for (const { times } of jobs) newest = later(newest, later(times.createdAt, later(times.startedAt, times.finishedAt)))
  return second(newest)
}

/** True if the newest observation of a pipeline is from REST. */
export function isFromRest(version: Version): boolean {
  return Number(version.split(':')[2]) === 1
}

/** Merges two observations of a pipeline. It is commutative, associative and idempotent, and returns `a` itself if `b` adds nothing. */
export function mergePipeline(a: Pipeline | undefined, b: Pipeline | undefined): Pipeline | undefined {
  if (a === undefined) return b
  if (b === undefined) return a
  const record = mergeVersioned(a.record, b.record, fieldOwners)
  const times = mergeTimes(a.times, b.times)
  return record === a.record && times === a.times ? a : { record, times }
}

function mergeTimes(a: PipelineTimes, b: PipelineTimes): PipelineTimes {
  const createdAt = later(a.createdAt, b.createdAt)
  const finishedAt = later(a.finishedAt, b.finishedAt)
  const updatedAt = later(a.updatedAt, b.updatedAt)
  const isKnown = createdAt === a.createdAt && finishedAt === a.finishedAt && updatedAt === a.updatedAt
  return isKnown ? a : knownOf({ createdAt, finishedAt, updatedAt })
}

/** The project of an observation. Name and path are taken from the newest observation, so a renamed project gets its latest path. */
export function observedProject(observation: Observation): Versioned<ProjectFacts> {
  // A pipeline payload contains the project's full name, but a job payload may contain "Owner / project".
  const hasPipeline = observation.pipeline === undefined ? 0 : 1
  return versioned(versionOf(hasPipeline, newestSecond(observation)), observation.project)
}

export const branchClasses = ['default', 'merge_request', 'tag', 'other'] as const
export type BranchClass = (typeof branchClasses)[number]

/** The display names of the branch classes. */
export const branchNames: Readonly<Record<string, string>> = {
  default: 'default branch',
  merge_request: 'merge requests',
  tag: 'tags',
  other: 'other branches',
}

/** The class of a branch. `other`: any branch that is in no other class, and every branch of a project whose default branch is unknown. */
export function branchClassOf(
  { ref = '', source, tag, mergeRequest }: Pick<PipelineFacts, 'ref' | 'source' | 'tag' | 'mergeRequest'>,
  { defaultBranch }: Pick<ProjectFacts, 'defaultBranch'>,
): BranchClass {
  if (source === 'merge_request_event' || mergeRequest !== undefined || ref.startsWith('refs/merge-requests/')) {
    return 'merge_request'
  }
  if (tag === true) return 'tag'
  return ref !== '' && ref === defaultBranch ? 'default' : 'other'
}
